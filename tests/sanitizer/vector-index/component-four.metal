// The component index is 4 for the last thread; a float4 has components 0 to 3.
// launch: --threads 5 --group 5 --arg out=zeros:f32:5
#include <metal_stdlib>
using namespace metal;

kernel void component(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float4 v = float4(1.0f, 2.0f, 3.0f, 4.0f);
    out[gid] = v[gid]; //~ vector-index
}
