// Division truncates; a divisor of zero counts as one; the smallest by -1 wraps.
//! covers: MSL 3.1
//! kernel: divide
//! threads: 6
//! group: 6
//! arg 0: i32 7 -7 7 -7 5 0x80000000
//! arg 1: i32 2 2 -2 -2 0 -1
//! arg 2: i32 0*12
//! expect 2: i32 3 -3 -3 3 5 0x80000000 1 -1 1 -1 0 0

#include <metal_stdlib>
using namespace metal;

kernel void divide(device const int* a, device const int* b, device int* out,
                   uint i [[thread_position_in_grid]]) {
    out[i] = a[i] / b[i];
    out[6 + i] = a[i] % b[i];
}
