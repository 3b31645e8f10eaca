// Kernels that cannot tell their threadgroups run squares of threads as rows: every thread once, at edges too, in
// narrow grids, and with faults in the launch's terms.
#include <metal_stdlib>
using namespace metal;

//! kernel: count
//! threads: 37,9
//! group: 16,16
//! arg 0: u32 0*333
//! arg 1: u32 37
//! expect 0: u32 0..333
//! kernel: count
//! groups: 3,2
//! group: 16,4
//! arg 0: u32 0*384
//! arg 1: u32 48
//! expect 0: u32 0..384
//! kernel: count
//! threads: 10,5
//! group: 8,8
//! arg 0: u32 0*50
//! arg 1: u32 10
//! expect 0: u32 0..50
kernel void count(device uint* out, constant uint& width, uint2 p [[thread_position_in_grid]]) {
  uint at = p.y * width + p.x;
  out[at] += at;
}

//! kernel: volume
//! threads: 33,3,5
//! group: 8,8,4
//! arg 0: u32 0*495
//! expect 0: u32 0..495
kernel void volume(device uint* out, uint3 p [[thread_position_in_grid]], uint3 size [[threads_per_grid]]) {
  uint at = (p.z * size.y + p.y) * size.x + p.x;
  out[at] += at;
}

// These can tell.
//! kernel: places
//! threads: 32,16
//! group: 16,16
//! arg 0: u32 0*512
//! expect 0: u32 (0..16 1000..1016)*16
kernel void places(device uint* out, uint2 p [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]],
                   uint2 group [[threadgroup_position_in_grid]]) {
  out[p.y * 32 + p.x] = group.x * 1000 + t.x;
}

//! kernel: outside
//! threads: 64,16
//! group: 16,16
//! arg 0: u32 0*1000
//! faults: yes
//! expect 0: u32 0..1000
kernel void outside(device uint* out, uint2 p [[thread_position_in_grid]]) {
  out[p.y * 64 + p.x] = p.y * 64 + p.x;
}
