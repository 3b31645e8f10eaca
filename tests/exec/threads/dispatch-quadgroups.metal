// Quad-groups of the threadgroup that was asked for, also in a smaller one at the edge of the grid.
//! covers: MSL 5.2.3.6
//! kernel: count
//! threads: 9,2
//! group: 3,2
//! arg 0: u32 0*18
//! expect 0: u32 2*18
//! kernel: count
//! threads: 7
//! group: 5
//! arg 0: u32 0*7
//! expect 0: u32 2*7
//! kernel: count_short
//! threads: 7
//! group: 32
//! arg 0: u32 0*7
//! expect 0: u32 8*7

#include <metal_stdlib>
using namespace metal;

kernel void count(device uint* out [[buffer(0)]], uint groups [[dispatch_quadgroups_per_threadgroup]],
                  uint2 at [[thread_position_in_grid]], uint2 size [[threads_per_grid]]) {
    out[at.y * size.x + at.x] = groups;
}
kernel void count_short(device uint* out [[buffer(0)]], ushort groups [[dispatch_quadgroups_per_threadgroup]],
                        uint at [[thread_position_in_grid]]) {
    out[at] = groups;
}
