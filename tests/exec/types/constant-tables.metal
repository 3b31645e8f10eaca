// Tables in constant memory, with uniform and varying indices.
//! covers: MSL 4.2
//! oracle: clang
//! kernel: look
//! threads: 5
//! group: 5
//! arg 0: f32 0*5
//! expect 0: f32 9.5 7.5 5.5 3.5 1.5

#include <metal_stdlib>
using namespace metal;

constant float table[] = {1.0f, 3.0f, 5.0f, 7.0f, 9.0f};
constant float halves[2][1] = {{0.0f}, {0.5f}};
kernel void look(device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = table[4 - i] + halves[1][0];
}
