// Products of matrices and vectors, columns, transposition, identity from a scalar.
//! covers: MSL 2.3, MSL 2.3.1, MSL 3.2
//! kernel: product
//! arg 0: f32 0*12
//! expect 0: f32 17 39 23 34 1 3 5 0 19 43 22 50

#include <metal_stdlib>
using namespace metal;

kernel void product(device float2* out) {
    float2x2 m = float2x2(float2(1, 3), float2(2, 4));
    out[0] = m * float2(5, 6);
    out[1] = float2(5, 6) * m;
    out[2] = transpose(m)[0].xy * float2(1, 1.5);
    out[3] = float2x2(5.0f)[0];
    float2x2 n = float2x2(float2(5, 7), float2(6, 8));
    float2x2 p = m * n;
    out[4] = p[0];
    out[5] = p[1];
}
