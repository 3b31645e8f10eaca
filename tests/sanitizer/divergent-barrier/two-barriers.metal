// Both sides of the branch have a barrier; these are two different barriers.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
#include <metal_stdlib>
using namespace metal;

kernel void sides(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                  uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    if (simdgroup == 0) {
        threadgroup_barrier(mem_flags::mem_threadgroup); //~ divergent-barrier 1
        out[lid] = 1;
    } else {
        threadgroup_barrier(mem_flags::mem_threadgroup); //~ divergent-barrier 2
        out[lid] = 2;
    }
}
