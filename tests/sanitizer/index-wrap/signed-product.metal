// The product of two ints leaves 31 bits.
// launch: --threads 1 --group 1 --arg data=iota:f32:4 --arg out=zeros:f32:1
// options: --enable index-wrap
#include <metal_stdlib>
using namespace metal;

kernel void product(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                    uint gid [[thread_position_in_grid]]) {
    out[gid] = data[(int(gid) + 65536) * 65536]; //~ index-wrap
}
