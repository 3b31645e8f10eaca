// The body runs at least once; continue goes to the condition.
//! covers: C++ stmt.do
//! oracle: clang
//! kernel: count
//! threads: 5
//! group: 5
//! arg 0: i32 0*5
//! expect 0: i32 1 1 2 6 24

#include <metal_stdlib>
using namespace metal;

kernel void count(device int* out, uint i [[thread_position_in_grid]]) {
    int n = int(i), product = 1, skipped = 0;
    do {
        if (n <= 1) { ++skipped; continue; }
        product *= n;
    } while (--n > 0);
    out[i] = product;
}
