// A private array that each lane indexes differently, as on a stack.
//! covers: MSL 4.3
//! oracle: clang
//! kernel: stack
//! threads: 40
//! group: 40
//! arg 0: u32 0*40
//! expect 0: u32 0 1 1 3 1 5 3 7 1 9 5 13 3 11 7 15 1 17 9 25 5 21 13 29 3 19 11 27 7 23 15 31 1 33 17 49 9 41 25 57

#include <metal_stdlib>
using namespace metal;

kernel void stack(device uint* out, uint i [[thread_position_in_grid]]) {
    uint digits[32];
    int depth = 0;
    for (uint n = i; n != 0; n /= 2) digits[depth++] = n % 2;
    uint result = 0, weight = 1;
    while (depth > 0) { result += digits[--depth] * weight; weight *= 2; }
    out[i] = result;
}
