// A function that calls itself and then goes on computing.
//! covers: C++ expr.call
//! oracle: clang
//! kernel: factorials
//! threads: 5
//! group: 5
//! arg 0: u32 0*5
//! expect 0: u32 1 1 2 6 24

#include <metal_stdlib>
using namespace metal;

static uint factorial(uint n) {
    return n <= 1 ? 1 : n * factorial(n - 1);
}
kernel void factorials(device uint* out, uint i [[thread_position_in_grid]]) {
    out[i] = factorial(i);
}
