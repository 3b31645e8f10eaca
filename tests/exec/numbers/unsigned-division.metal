// Unsigned division and remainder, also by varying powers of two.
//! covers: MSL 3.1
//! kernel: divide
//! threads: 4
//! group: 4
//! arg 0: u32 0xffffffff 100 7 5
//! arg 1: u32 2 7 8 0
//! arg 2: u32 0*8
//! expect 2: u32 0x7fffffff 14 0 5 1 2 7 0

#include <metal_stdlib>
using namespace metal;

kernel void divide(device const uint* a, device const uint* b, device uint* out,
                   uint i [[thread_position_in_grid]]) {
    out[i] = a[i] / b[i];
    out[4 + i] = a[i] % b[i];
}
