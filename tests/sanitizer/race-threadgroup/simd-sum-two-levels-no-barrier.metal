// The last SIMD-group reads the sums of the others without a barrier.
// launch: --threads 128 --group 128 --arg out=zeros:f32:1
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float sums[4];
    float sum = simd_sum(float(lid));
    if (lane == 0) {
        sums[simdgroup] = sum; //~ race-threadgroup 1
    }
    if (simdgroup == 3 && lane == 0) {
        out[0] = sums[0] + sum; //~ race-threadgroup 2
    }
}
