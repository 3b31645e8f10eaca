// A reduction of one SIMD-group that relies on lock-step: each step reads what other lanes wrote in the step before.
// launch: --threads 32 --group 32 --arg out=zeros:f32:1
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float sums[32];
    sums[lid] = float(lid);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 16; step > 0; step /= 2) {
        if (lid < step) {
            sums[lid] += sums[lid + step]; //~ race-simdgroup 12
        }
    }
    if (lid == 0) {
        out[0] = sums[0];
    }
}
