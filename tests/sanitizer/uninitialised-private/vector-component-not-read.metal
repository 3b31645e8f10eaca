// One component of the vector is never assigned, and only the others are read.
// launch: --threads 4 --group 4 --arg out=zeros:f32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void component(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float3 v;
    v.x = float(gid);
    v.z = 2.0f;
    out[gid] = v.x * v.z;
}
