// The uint index of thread 0 is 0 - 1: it wraps to 4294967295, which is outside as well.
// launch: --threads 4 --group 4 --arg data=iota:f32:4 --arg out=zeros:f32:4
// options: --enable index-wrap
#include <metal_stdlib>
using namespace metal;

kernel void before(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                   uint gid [[thread_position_in_grid]]) {
    out[gid] = data[gid - 1u]; //~ index-wrap //~ out-of-bounds
}
