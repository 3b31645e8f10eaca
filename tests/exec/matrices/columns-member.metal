// The columns of a matrix by name, as host code spells them: read, written, of values and through pointers.
//! covers: MSL 2.3.1
//! kernel: columns
//! arg 0: f32 1 2 3 4
//! arg 1: f32 0*8
//! expect 0: f32 1 2 7 9
//! expect 1: f32 2 1 4 3 5 20 70 9

#include <metal_stdlib>
using namespace metal;

kernel void columns(device float2x2& m [[buffer(0)]], device float* out [[buffer(1)]]) {
    float2x2 swapped = m;
    swapped.columns[0] = m.columns[0].yx;
    swapped.columns[1] = swapped.columns[1].yx;
    for (int i = 0; i < 2; i++) {
        out[2 * i] = swapped.columns[i].x;
        out[2 * i + 1] = swapped.columns[i][1];
    }
    out[4] = (m + m).columns[1].x - m.columns[0].x;
    device float2x2* pointer = &m;
    out[5] = (pointer->columns[0] * 10).y;
    pointer->columns[1] = float2(7, 9);
    out[6] = pointer->columns[1].x * 10;
    out[7] = m[1].y;
}
