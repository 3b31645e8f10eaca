// All parts of a for may be missing; the comma evaluates both sides.
//! covers: C++ expr.comma, C++ stmt.for
//! oracle: clang
//! kernel: parts
//! threads: 3
//! group: 3
//! arg 0: i32 0*3
//! expect 0: i32 9 16 25

#include <metal_stdlib>
using namespace metal;

kernel void parts(device int* out, uint i [[thread_position_in_grid]]) {
    int low = 0, high = 6 + int(i) * 2, steps = 0;
    for (int a = 0, b = high; a < b; ++a, --b) steps += 1;
    for (;;) { if (++low >= steps) break; }
    int result = (low += 0, low * low);
    out[i] = result;
}
