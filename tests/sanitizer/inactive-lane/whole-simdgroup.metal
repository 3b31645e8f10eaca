// The branch is uniform in each SIMD-group: all lanes execute the shuffle.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void uniform_branch(device uint *out [[buffer(0)]],
                           uint lid [[thread_position_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    uint value = 0;
    if (simdgroup == 1) {
        value = simd_shuffle(lane, ushort(31 - lane));
    }
    out[lid] = value;
}
