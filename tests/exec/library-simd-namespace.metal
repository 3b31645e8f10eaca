// Functions and types of the library through namespace `simd`.
//! covers: MSL 6.1
//! kernel: measured
//! arg 0: f32 3 4
//! arg 1: f32 0*3
//! expect 1: f32 5 11 4

#include <metal_stdlib>
#include <simd/simd.h>

kernel void measured(device const simd::float2* x [[buffer(0)]], device float* out [[buffer(1)]])
{
    out[0] = simd::length(x[0]);
    out[1] = simd::dot(x[0], simd::float2(1, 2));
    out[2] = simd::max(x[0].x, x[0].y);
}
