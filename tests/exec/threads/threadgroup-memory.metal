// A threadgroup reverses its elements through shared memory.
//! covers: MSL 4.4
//! kernel: reverse
//! groups: 2
//! group: 64
//! arg 0: i32 0..128
//! expect 0: i32 63..-1..-1 127..63..-1

#include <metal_stdlib>
using namespace metal;

kernel void reverse(device int* data, uint i [[thread_position_in_grid]],
                    uint local [[thread_index_in_threadgroup]]) {
    threadgroup int shared[64];
    shared[local] = data[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    data[i] = shared[63 - local];
}
