// Comparisons with NaN are false, except inequality; minimum and maximum give the number.
//! covers: MSL 6.4, C++ expr.rel
//! oracle: exact
//! kernel: compare
//! math: safe
//! arg 0: f32 nan 1
//! arg 1: i32 0*9
//! expect 1: i32 0 1 0 0 0 1 1 1 0

#include <metal_stdlib>
using namespace metal;

kernel void compare(device const float* in, device int* out) {
    float n = in[0], one = in[1];
    out[0] = n == n;
    out[1] = n != n;
    out[2] = n < one;
    out[3] = n >= one;
    out[4] = !(n != one);
    out[5] = fmin(n, one) == one;
    out[6] = max(one, n) == one;
    out[7] = isnan(n);
    out[8] = isfinite(n);
}
