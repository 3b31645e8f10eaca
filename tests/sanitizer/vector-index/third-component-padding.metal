// A float3 has the size of a float4, but component 3 is padding.
// launch: --threads 4 --group 4 --arg out=zeros:f32:4
#include <metal_stdlib>
using namespace metal;

kernel void component(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float3 v = float3(1.0f, 2.0f, 3.0f);
    out[gid] = v[gid]; //~ vector-index
}
