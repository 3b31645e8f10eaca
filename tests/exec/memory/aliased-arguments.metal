// One buffer at two arguments: programs tell by it that an argument is missing.
//! covers: MSL 2.8, MSL 5.2.1
//! kernel: compare
//! arg 0: u32 5 6
//! arg 1: same 0
//! arg 2: u32 5 6
//! arg 3: u32 0*4
//! expect 3: u32 1 0 0 1
//! kernel: add
//! arg 0: u32 5 6
//! arg 1: same 0
//! arg 2: u32 0
//! expect 2: u32 11

#include <metal_stdlib>
using namespace metal;

kernel void compare(device const uint* a, device const uint* same, device const uint* other, device uint* out) {
    out[0] = a == same;
    out[1] = a == other;
    out[2] = a != same;
    out[3] = a + 1 > same;
}

kernel void add(device const uint* a, device const uint* b, device uint* out) {
    out[0] = a[0] + b[1];
}
