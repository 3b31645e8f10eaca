// Float additions and a compare-and-exchange loop for a maximum, from all threadgroups.
// launch: --threads 128 --group 32 --arg sum=zeros:f32:1 --arg largest=zeros:u32:1
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device atomic_float *sum [[buffer(0)]],
                   device atomic_uint *largest [[buffer(1)]],
                   uint gid [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(sum, float(gid), memory_order_relaxed);
    uint seen = atomic_load_explicit(largest, memory_order_relaxed);
    while (seen < gid) {
        if (atomic_compare_exchange_weak_explicit(largest, &seen, gid, memory_order_relaxed, memory_order_relaxed)) {
            break;
        }
    }
}
