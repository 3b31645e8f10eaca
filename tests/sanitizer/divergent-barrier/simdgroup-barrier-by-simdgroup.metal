// One SIMD-group as a whole executes the simdgroup_barrier: that is its scope.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void one(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint tile[64];
    tile[lid] = lid;
    if (simdgroup == 1) {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        out[lid] = tile[lid ^ 1];
    }
}
