// Column and row of a float3x3 stay inside.
// launch: --threads 9 --group 9 --arg out=zeros:f32:9
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void element(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float3x3 m = float3x3(1.0f);
    out[gid] = m[gid / 3][gid % 3];
}
