// A tree reduction: a barrier in each iteration.
//! covers: MSL 6.9.1
//! kernel: reduce
//! groups: 2
//! group: 128
//! arg 0: u32 0..256
//! arg 1: u32 0*2
//! expect 1: u32 8128 24512

#include <metal_stdlib>
using namespace metal;

kernel void reduce(device const uint* in, device uint* out, uint i [[thread_position_in_grid]],
                   uint local [[thread_index_in_threadgroup]], uint group [[threadgroup_position_in_grid]],
                   uint size [[threads_per_threadgroup]]) {
    threadgroup uint shared[128];
    shared[local] = in[i];
    for (uint half_size = size / 2; half_size > 0; half_size /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (local < half_size) shared[local] += shared[local + half_size];
    }
    if (local == 0) out[group] = shared[0];
}
