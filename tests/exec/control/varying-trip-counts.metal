// Each lane leaves the loop on its own.
//! covers: C++ stmt.while
//! oracle: clang
//! kernel: collatz
//! threads: 10
//! group: 10
//! arg 0: u32 0*10
//! expect 0: u32 0 1 7 2 5 8 16 3 19 6

#include <metal_stdlib>
using namespace metal;

kernel void collatz(device uint* out, uint i [[thread_position_in_grid]]) {
    uint n = i + 1, steps = 0;
    for (; n != 1; ++steps) n = (n & 1) ? 3 * n + 1 : n / 2;
    out[i] = steps;
}
