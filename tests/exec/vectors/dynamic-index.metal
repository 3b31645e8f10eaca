// A varying component index.
//! covers: MSL 2.2.1
//! oracle: clang
//! kernel: pick
//! threads: 4
//! group: 4
//! arg 0: f32 0*8
//! expect 0: f32 40 30 20 10 0 7 0 0

#include <metal_stdlib>
using namespace metal;

kernel void pick(device float* out, uint i [[thread_position_in_grid]]) {
    float4 v = float4(10, 20, 30, 40);
    out[i] = v[3 - i];
    float4 w = 0;
    w[i] = 7;
    out[4 + i] = w.y;
}
