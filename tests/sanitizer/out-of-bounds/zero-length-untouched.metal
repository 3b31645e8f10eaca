// A buffer without elements that is never accessed.
// launch: --threads 4 --group 4 --arg extra=zeros:f32:0 --arg out=zeros:f32:4 --arg n=u32:0
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void fill(device const float *extra [[buffer(0)]], device float *out [[buffer(1)]],
                 constant uint &n [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = gid < n ? extra[gid] : 0.0f;
}
