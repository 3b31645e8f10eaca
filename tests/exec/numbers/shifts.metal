// Amounts are taken modulo the width; right shifts of signed numbers keep the sign.
//! covers: MSL 3.1, C++ expr.shift
//! oracle: exact
//! kernel: shift
//! threads: 4
//! group: 4
//! arg 0: u32 1 31 32 33
//! arg 1: i32 0*12
//! expect 1: i32 2 0x80000000 1 2 -4 -1 -8 -4 0x7ffffffc 1 -8 0x7ffffffc

#include <metal_stdlib>
using namespace metal;

kernel void shift(device const uint* by, device int* out, uint i [[thread_position_in_grid]]) {
    out[i] = 1 << by[i];
    out[4 + i] = -8 >> by[i];
    out[8 + i] = int(0xfffffff8u >> by[i]);
}
