// All atomic functions on device memory, from all threadgroups at once: atomics never race with each other.
// launch: --threads 128 --group 32 --arg a=zeros:u32:10 --arg out=zeros:u32:128
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void all_forms(device atomic_uint *a [[buffer(0)]], device uint *out [[buffer(1)]],
                      uint gid [[thread_position_in_grid]]) {
    uint sum = atomic_fetch_add_explicit(&a[0], gid, memory_order_relaxed);
    sum += atomic_fetch_sub_explicit(&a[0], 1, memory_order_relaxed);
    sum += atomic_fetch_min_explicit(&a[1], gid, memory_order_relaxed);
    sum += atomic_fetch_max_explicit(&a[2], gid, memory_order_relaxed);
    sum += atomic_fetch_and_explicit(&a[3], gid, memory_order_relaxed);
    sum += atomic_fetch_or_explicit(&a[4], gid, memory_order_relaxed);
    sum += atomic_fetch_xor_explicit(&a[5], gid, memory_order_relaxed);
    sum += atomic_exchange_explicit(&a[6], gid, memory_order_relaxed);
    uint expected = 0;
    if (atomic_compare_exchange_weak_explicit(&a[7], &expected, gid, memory_order_relaxed, memory_order_relaxed)) {
        sum += 1;
    }
    atomic_store_explicit(&a[8], gid, memory_order_relaxed);
    sum += atomic_load_explicit(&a[8], memory_order_relaxed);
    out[gid] = sum;
}
