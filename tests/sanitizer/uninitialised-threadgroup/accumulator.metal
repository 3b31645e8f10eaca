// Threadgroup memory is not zero at the start: the atomic counter has no first value.
// launch: --threads 32 --group 32 --arg out=zeros:u32:1
#include <metal_stdlib>
using namespace metal;

kernel void count_up(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint count;
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); //~ uninitialised-threadgroup
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid == 0) {
        out[0] = atomic_load_explicit(&count, memory_order_relaxed);
    }
}
