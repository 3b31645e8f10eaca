// All atomic functions on threadgroup memory, from all SIMD-groups at once.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void all_forms(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint a[9];
    if (lid < 9) {
        atomic_store_explicit(&a[lid], 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint sum = atomic_fetch_add_explicit(&a[0], lid, memory_order_relaxed);
    sum += atomic_fetch_sub_explicit(&a[0], 1, memory_order_relaxed);
    sum += atomic_fetch_min_explicit(&a[1], lid, memory_order_relaxed);
    sum += atomic_fetch_max_explicit(&a[2], lid, memory_order_relaxed);
    sum += atomic_fetch_and_explicit(&a[3], lid, memory_order_relaxed);
    sum += atomic_fetch_or_explicit(&a[4], lid, memory_order_relaxed);
    sum += atomic_fetch_xor_explicit(&a[5], lid, memory_order_relaxed);
    sum += atomic_exchange_explicit(&a[6], lid, memory_order_relaxed);
    uint expected = 0;
    if (atomic_compare_exchange_weak_explicit(&a[7], &expected, lid, memory_order_relaxed, memory_order_relaxed)) {
        sum += 1;
    }
    out[lid] = sum + atomic_load_explicit(&a[8], memory_order_relaxed);
}
