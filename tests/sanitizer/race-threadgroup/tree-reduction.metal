// A complete tree reduction: barrier after the first stores and after each step.
// launch: --threads 256 --group 64 --arg out=zeros:f32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                   uint gid [[thread_position_in_grid]],
                   uint group [[threadgroup_position_in_grid]]) {
    threadgroup float sums[64];
    sums[lid] = float(gid);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 32; step > 0; step /= 2) {
        if (lid < step) {
            sums[lid] += sums[lid + step];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (lid == 0) {
        out[group] = sums[0];
    }
}
