// A simdgroup_barrier that only even lanes execute.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
#include <metal_stdlib>
using namespace metal;

kernel void even(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    if (lid % 2 == 0) {
        simdgroup_barrier(mem_flags::mem_threadgroup); //~ divergent-barrier
    }
    out[lid] = lid;
}
