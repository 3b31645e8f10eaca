// Threadgroup histograms in threadgroup atomics, merged into device atomics after a barrier.
// launch: --threads 256 --group 64 --arg bins=zeros:u32:16
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device atomic_uint *bins [[buffer(0)]],
                      uint gid [[thread_position_in_grid]],
                      uint lid [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint local[16];
    if (lid < 16) {
        atomic_store_explicit(&local[lid], 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&local[(gid * 7) & 15], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid < 16) {
        atomic_fetch_add_explicit(&bins[lid], atomic_load_explicit(&local[lid], memory_order_relaxed), memory_order_relaxed);
    }
}
