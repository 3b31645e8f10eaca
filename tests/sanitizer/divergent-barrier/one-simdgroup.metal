// The first SIMD-group executes the barrier, the second does not.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
#include <metal_stdlib>
using namespace metal;

kernel void one_waits(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    out[lid] = 0;
    if (simdgroup == 0) {
        threadgroup_barrier(mem_flags::mem_threadgroup); //~ divergent-barrier
    }
    out[lid] = lid;
}
