// A store past the end is dropped and reported; the others happen.
//! kernel: past
//! threads: 8
//! group: 8
//! faults: yes
//! arg 0: i32 0*4
//! arg 1: i32 9*2
//! expect 0: i32 1*4
//! expect 1: i32 9*2

#include <metal_stdlib>
using namespace metal;

kernel void past(device int* out, device int* other, uint i [[thread_position_in_grid]]) {
    out[i] = 1;
}
