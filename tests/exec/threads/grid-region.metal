// The region of stage-in data is the grid where a launch is given none.
//! covers: MSL 5.2.4
//! kernel: region
//! threads: 5,3
//! group: 4,2
//! arg 0: u32 0*8
//! expect 0: u32 5 3 1 0 0 0 0 0
//! kernel: narrow
//! threads: 5
//! arg 0: u32 9*2
//! expect 0: u32 5 0

#include <metal_stdlib>
using namespace metal;

kernel void region(device uint* out, uint3 size [[grid_size]], uint3 origin [[grid_origin]],
                   uint2 at [[thread_position_in_grid]]) {
    if (any(at != 0)) return;
    out[0] = size.x;
    out[1] = size.y;
    out[2] = size.z;
    out[3] = origin.x;
    out[4] = origin.y;
    out[5] = origin.z;
}

kernel void narrow(device uint* out, ushort size [[grid_size]], uint2 origin [[grid_origin]],
                   uint at [[thread_position_in_grid]]) {
    if (at != 0) return;
    out[0] = size;
    out[1] = origin.x + origin.y;
}
