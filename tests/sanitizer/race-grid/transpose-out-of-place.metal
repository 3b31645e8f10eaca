// From one buffer to another: no element is read and written.
// launch: --threads 8,8 --group 4,4 --arg data=iota:f32:64 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void transpose(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                      uint2 gid [[thread_position_in_grid]]) {
    out[gid.y * 8 + gid.x] = data[gid.x * 8 + gid.y];
}
