// Single-pass scan of sums: each threadgroup waits for the sum of the one before, with fences on both sides.
// launch: --threads 128 --group 32 --arg state=zeros:u32:4 --arg sums=zeros:u32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void scan(device atomic_uint *state [[buffer(0)]], device uint *sums [[buffer(1)]],
                 uint gid [[thread_position_in_grid]],
                 uint lid [[thread_position_in_threadgroup]],
                 uint group [[threadgroup_position_in_grid]]) {
    uint own = simd_sum(gid);
    if (lid == 0) {
        uint before = 0;
        if (group > 0) {
            while (atomic_load_explicit(&state[group - 1], memory_order_relaxed) == 0) {
            }
            atomic_thread_fence(mem_flags::mem_device, memory_order_acquire, thread_scope_device);
            before = sums[group - 1];
        }
        sums[group] = before + own;
        atomic_thread_fence(mem_flags::mem_device, memory_order_release, thread_scope_device);
        atomic_store_explicit(&state[group], 1, memory_order_relaxed);
    }
}
