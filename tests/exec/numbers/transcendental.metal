// Library functions, to a few units in the last place.
//! covers: MSL 6.5
//! oracle: mpmath
//! kernel: library
//! threads: 3
//! group: 3
//! arg 0: f32 0.5 1 2
//! arg 1: f32 0*15
//! expect 1: f32 1.6487213 2.7182817 7.389056 -0.6931472 0 0.6931472 0.47942554 0.84147096 0.9092974 0.46211717 0.7615942 0.9640276 0.70710677 1 1.4142135 within 7 ulp

#include <metal_stdlib>
using namespace metal;

kernel void library(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    float x = in[i];
    out[i] = exp(x);
    out[3 + i] = log(x);
    out[6 + i] = sin(x);
    out[9 + i] = tanh(x);
    out[12 + i] = sqrt(x);
}
