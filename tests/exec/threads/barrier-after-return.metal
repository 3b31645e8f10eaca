// Threads that returned need not reach a barrier.
//! covers: MSL 6.9.1
//! kernel: some
//! groups: 1
//! group: 96
//! arg 0: i32 -1*96
//! expect 0: i32 69..-1..-1 -1*26

#include <metal_stdlib>
using namespace metal;

kernel void some(device int* out, uint i [[thread_index_in_threadgroup]]) {
    threadgroup int shared[96];
    if (i >= 70) return;
    shared[i] = int(i);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = shared[69 - i];
}
