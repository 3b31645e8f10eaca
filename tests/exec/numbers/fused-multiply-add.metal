// fma rounds once, a product and a sum in safe mode twice.
//! covers: MSL 6.5
//! oracle: clang
//! kernel: fused
//! math: safe
//! arg 0: f32 1.0000001 1.0000001 -1.0000002
//! arg 1: f32 0*2
//! expect 1: f32 0x28800000 0

#include <metal_stdlib>
using namespace metal;

kernel void fused(device const float* in, device float* out) {
    out[0] = fma(in[0], in[1], in[2]);
    float product = in[0] * in[1];
    out[1] = product + in[2];
}
