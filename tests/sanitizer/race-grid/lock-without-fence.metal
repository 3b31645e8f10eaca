// A lock of relaxed atomics alone does not order what it protects.
// launch: --threads 64 --group 32 --arg lock=zeros:u32:1 --arg count=zeros:u32:1
#include <metal_stdlib>
using namespace metal;

kernel void locked(device atomic_uint *lock [[buffer(0)]], device uint *count [[buffer(1)]],
                   uint lid [[thread_position_in_threadgroup]]) {
    if (lid == 0) {
        uint expected = 0;
        while (!atomic_compare_exchange_weak_explicit(lock, &expected, 1, memory_order_relaxed, memory_order_relaxed)) {
            expected = 0;
        }
        count[0] += 1; //~ race-grid 12
        atomic_store_explicit(lock, 0, memory_order_relaxed);
    }
}
