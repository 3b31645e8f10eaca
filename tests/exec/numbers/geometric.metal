// dot, cross, length, distance, normalize, reflect.
//! covers: MSL 6.8
//! kernel: geometry
//! arg 0: f32 0*10
//! expect 0: f32 32 -3 6 -3 5 5 0.6 0.8 1 1 within 2 ulp

#include <metal_stdlib>
using namespace metal;

kernel void geometry(device float* out) {
    float3 a = float3(1, 2, 3), b = float3(4, 5, 6);
    out[0] = dot(a, b);
    float3 c = cross(a, b);
    out[1] = c.x;
    out[2] = c.y;
    out[3] = c.z;
    out[4] = length(float2(3, 4));
    out[5] = distance(float2(0, 0), float2(3, 4));
    float2 n = normalize(float2(3, 4));
    out[6] = n.x;
    out[7] = n.y;
    float2 r = reflect(float2(1, -1), float2(0, 1));
    out[8] = r.x;
    out[9] = r.y;
}
