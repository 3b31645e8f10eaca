// The condition is read from threadgroup memory after a barrier: all threads read the same value.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void shared_condition(device uint *out [[buffer(0)]],
                             uint lid [[thread_position_in_threadgroup]]) {
    threadgroup uint go_on;
    if (lid == 0) {
        go_on = 1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (go_on == 1) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[lid] = lid;
}
