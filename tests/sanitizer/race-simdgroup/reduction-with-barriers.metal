// Each step of the reduction is followed by a simdgroup_barrier that all threads of the SIMD-group reach.
// launch: --threads 32 --group 32 --arg out=zeros:f32:1
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float sums[32];
    sums[lid] = float(lid);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 16; step > 0; step /= 2) {
        float other = lid < step ? sums[lid + step] : 0.0f;
        simdgroup_barrier(mem_flags::mem_threadgroup);
        sums[lid] += other;
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (lid == 0) {
        out[0] = sums[0];
    }
}
