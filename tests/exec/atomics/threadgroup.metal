// Counters in threadgroup memory; the old values are all different.
//! covers: MSL 2.6, MSL 6.15
//! kernel: order
//! groups: 1
//! group: 50
//! arg 0: u32 0*50
//! arg 1: u32 0
//! expect 0: u32 1*50
//! expect 1: u32 50

#include <metal_stdlib>
using namespace metal;

kernel void order(device uint* seen, device uint* total, uint i [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint counter;
    if (i == 0) atomic_store_explicit(&counter, 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint mine = atomic_fetch_add_explicit(&counter, 1u, memory_order_relaxed);
    seen[mine] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) *total = atomic_load_explicit(&counter, memory_order_relaxed);
}
