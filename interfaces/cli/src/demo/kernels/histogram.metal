// Counts bytes in 256 bins: each threadgroup counts in its own memory, then adds to the total.
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device const uchar* values [[buffer(0)]],
                      device atomic_uint* bins [[buffer(1)]],
                      constant uint& n [[buffer(2)]],
                      uint tid [[thread_index_in_threadgroup]],
                      uint i [[thread_position_in_grid]],
                      uint threads [[threads_per_grid]],
                      uint width [[threads_per_threadgroup]]) {
    threadgroup atomic_uint local_bins[256];
    for (uint bin = tid; bin < 256; bin += width) {
        atomic_store_explicit(&local_bins[bin], 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint at = i; at < n; at += threads) {
        atomic_fetch_add_explicit(&local_bins[values[at]], 1, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint bin = tid; bin < 256; bin += width) {
        uint count = atomic_load_explicit(&local_bins[bin], memory_order_relaxed);
        atomic_fetch_add_explicit(&bins[bin], count, memory_order_relaxed);
    }
}
