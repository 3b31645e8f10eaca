// floor, ceil, trunc, round away from zero, rint to even.
//! covers: MSL 6.5
//! oracle: clang
//! kernel: round_all
//! threads: 4
//! group: 4
//! arg 0: f32 2.5 -2.5 0.5 3.5
//! arg 1: f32 0*20
//! expect 1: f32 2 -3 0 3 3 -2 1 4 2 -2 0 3 3 -3 1 4 2 -2 0 4

#include <metal_stdlib>
using namespace metal;

kernel void round_all(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    float x = in[i];
    out[i] = floor(x);
    out[4 + i] = ceil(x) + 0.0f;
    out[8 + i] = trunc(x) + 0.0f;
    out[12 + i] = round(x);
    out[16 + i] = rint(x) + 0.0f;
}
