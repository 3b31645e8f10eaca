// The tree reduction has barriers in its loop, but none between the first stores and the loop.
// launch: --threads 64 --group 64 --arg out=zeros:f32:1
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float sums[64];
    sums[lid ^ 32] = float(lid); //~ race-threadgroup 1
    for (uint step = 32; step > 0; step /= 2) {
        if (lid >= 64 - step) {
            sums[lid] += sums[lid - step]; //~ race-threadgroup 2
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (lid == 63) {
        out[0] = sums[63];
    }
}
