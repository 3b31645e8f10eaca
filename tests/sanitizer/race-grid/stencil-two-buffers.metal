// The stencil reads one buffer and writes another.
// launch: --threads 64 --group 16 --arg data=iota:f32:66 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void smooth(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                   uint gid [[thread_position_in_grid]]) {
    out[gid] = data[gid] + data[gid + 1] + data[gid + 2];
}
