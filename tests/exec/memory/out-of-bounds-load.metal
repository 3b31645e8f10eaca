// A load past the end, or before the start, gives zero.
//! kernel: past
//! threads: 4
//! group: 4
//! faults: yes
//! arg 0: i32 5 6
//! arg 1: i32 9*4
//! expect 1: i32 0 5 6 0

#include <metal_stdlib>
using namespace metal;

kernel void past(device const int* in, device int* out, uint i [[thread_position_in_grid]]) {
    out[i] = in[int(i) - 1];
}
