// The thread with the wrong index does not execute the access.
// launch: --threads 8 --group 8 --arg out=zeros:f32:8
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void component(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float4 v = float4(1.0f, 2.0f, 3.0f, 4.0f);
    float value = 0.0f;
    if (gid < 4) {
        value = v[gid];
    }
    out[gid] = value;
}
