// half and float matrices that are not square; elements by index.
//! covers: MSL 2.3.1
//! kernel: shape
//! arg 0: f32 0*4
//! expect 0: f32 9 12 15 6

#include <metal_stdlib>
using namespace metal;

kernel void shape(device float* out) {
    float2x3 m = float2x3(float3(1, 2, 3), float3(4, 5, 6));
    float3 v = m * float2(1, 2);
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
    half4x4 h = half4x4(half4(1), half4(2), half4(3), half4(4));
    out[3] = float(h[1][2] + h[3].x);
}
