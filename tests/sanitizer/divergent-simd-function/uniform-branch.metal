// The branch is uniform in each SIMD-group.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
// options: --enable divergent-simd-function
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void one(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    uint value = 0;
    if (simdgroup == 0) {
        value = simd_sum(lid);
    }
    out[lid] = value;
}
