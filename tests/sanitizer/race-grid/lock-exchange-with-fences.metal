// The same lock with atomic_exchange and fences of sequentially consistent order.
// launch: --threads 128 --group 32 --arg lock=zeros:u32:1 --arg count=zeros:u32:1
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void locked(device atomic_uint *lock [[buffer(0)]], device uint *count [[buffer(1)]],
                   uint lid [[thread_position_in_threadgroup]]) {
    if (lid == 0) {
        while (atomic_exchange_explicit(lock, 1, memory_order_relaxed) != 0) {
        }
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        count[0] += 1;
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        atomic_store_explicit(lock, 0, memory_order_relaxed);
    }
}
