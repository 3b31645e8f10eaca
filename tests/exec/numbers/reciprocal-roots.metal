// Reciprocal roots and quotients by roots at the ends of their domain, in fast and in relaxed math.
//! covers: MSL 6.5
//! oracle: mpmath
//! kernel: fast_math
//! threads: 7
//! group: 7
//! arg 0: f32 4 0 -0.0 inf 2 3e38 -1
//! arg 1: f32 0*14
//! expect 1: f32 0.5 inf -inf 0 0.70710678118654752 5.773502691896258e-20 nan 1.5 inf -inf 0 2.1213203435596426 1.7320508075688773e-19 nan within 4 ulp
//! kernel: of_sums
//! threads: 4
//! group: 4
//! arg 0: f32 0 1 2 3e20
//! arg 1: f32 0*4
//! expect 1: f32 1 0.70710678118654752 0.4472135954999579 0 within 2 ulp
//! kernel: relaxed_math
//! threads: 8
//! group: 8
//! arg 0: f32 4 0 -0.0 inf 2 3e38 -1 nan
//! arg 1: f32 0*24
//! expect 1: f32 0.5 inf -inf 0 0.70710678118654752 5.773502691896258e-20 nan nan 1.5 inf -inf 0 2.1213203435596426 1.7320508075688773e-19 nan nan 0.75 inf -inf 0 1.0606601717798213 8.660254037844386e-20 nan nan within 4 ulp

#include <metal_stdlib>
using namespace metal;

kernel void fast_math(device const float* x [[buffer(0)]], device float* out [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
    out[i] = rsqrt(x[i]);
    out[7 + i] = 3 / sqrt(x[i]);
}

// Sums of squares and a constant are known to be positive, but may overflow.
kernel void of_sums(device const float* x [[buffer(0)]], device float* out [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    out[i] = rsqrt(x[i] * x[i] + 1);
}

#pragma METAL fp math_mode(relaxed)
kernel void relaxed_math(device const float* x [[buffer(0)]], device float* out [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    out[i] = rsqrt(x[i]);
    out[8 + i] = 3 / sqrt(x[i]);
    out[16 + i] = 3 / (2 * sqrt(x[i]));
}
