// The component index stays inside of the vector.
// launch: --threads 8 --group 8 --arg out=zeros:f32:8
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void component(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float4 v = float4(1.0f, 2.0f, 3.0f, 4.0f);
    v[gid & 3] = 9.0f;
    out[gid] = v[3 - (gid & 3)];
}
