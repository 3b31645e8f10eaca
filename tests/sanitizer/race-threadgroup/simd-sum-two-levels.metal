// Each SIMD-group writes its own element; after the barrier one SIMD-group adds them up.
// launch: --threads 128 --group 128 --arg out=zeros:f32:1
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float sums[4];
    float sum = simd_sum(float(lid));
    if (lane == 0) {
        sums[simdgroup] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == 0) {
        float total = simd_sum(lane < 4 ? sums[lane] : 0.0f);
        if (lane == 0) {
            out[0] = total;
        }
    }
}
