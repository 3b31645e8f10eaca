// Two variables that swap roles in each iteration.
//! covers: C++ stmt.while
//! oracle: clang
//! kernel: fibonacci
//! threads: 12
//! group: 12
//! arg 0: u32 0*12
//! expect 0: u32 0 1 1 2 3 5 8 13 21 34 55 89

#include <metal_stdlib>
using namespace metal;

kernel void fibonacci(device uint* out, uint i [[thread_position_in_grid]]) {
    uint a = 0, b = 1;
    for (uint n = 0; n < i; ++n) { uint next = a + b; a = b; b = next; }
    out[i] = a;
}
