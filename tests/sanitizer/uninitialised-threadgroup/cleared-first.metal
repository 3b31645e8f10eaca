// The counters are stored before the barrier, then added to.
// launch: --threads 32 --group 32 --arg out=zeros:u32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint bins[4];
    if (lid < 4) {
        atomic_store_explicit(&bins[lid], 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&bins[lid & 3], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid < 4) {
        out[lid] = atomic_load_explicit(&bins[lid], memory_order_relaxed);
    }
}
