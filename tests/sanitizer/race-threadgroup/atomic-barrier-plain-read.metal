// After a barrier a plain read of the atomic's word is in order.
// launch: --threads 64 --group 64 --arg out=zeros:u32:1
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void mixed(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint total;
    if (lid == 0) {
        atomic_store_explicit(&total, 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&total, lid, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid == 63) {
        out[0] = *reinterpret_cast<threadgroup uint *>(&total);
    }
}
