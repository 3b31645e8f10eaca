// Positions and sizes agree in one, two and three dimensions, with partial threadgroups.
//! covers: MSL 5.1.3, MSL 5.2.3.6
//! kernel: where
//! threads: 5, 3, 2
//! group: 2, 2, 1
//! arg 0: u32 0*60
//! expect 0: u32 0 22 1 22 1000 22 1001 22 2000 12 10 22 11 22 1010 22 1011 22 2010 12 10000 21 10001 21 11000 21 11001 21 12000 11 100000 22 100001 22 101000 22 101001 22 102000 12 100010 22 100011 22 101010 22 101011 22 102010 12 110000 21 110001 21 111000 21 111001 21 112000 11

#include <metal_stdlib>
using namespace metal;

kernel void where(device uint* out, uint3 at [[thread_position_in_grid]],
                  uint3 local [[thread_position_in_threadgroup]], uint3 group [[threadgroup_position_in_grid]],
                  uint3 size [[threads_per_threadgroup]], uint3 grid [[threads_per_grid]],
                  uint linear [[thread_index_in_threadgroup]]) {
    uint i = at.x + grid.x * (at.y + grid.y * at.z);
    bool consistent = linear == local.x + size.x * local.y;
    out[2 * i] = consistent ? local.x + 10 * local.y + 100 * local.z + 1000 * group.x + 10000 * group.y
        + 100000 * group.z : 0;
    out[2 * i + 1] = size.x * 10 + size.y;
}
