// A histogram by plain additions: lanes of a SIMD-group read and write the same bin.
// launch: --threads 32 --group 32 --arg out=zeros:u32:4
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup uint bins[4];
    if (lid < 4) {
        bins[lid] = 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    bins[lid & 3] += lid + 1; //~ race-simdgroup 12
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid < 4) {
        out[lid] = bins[lid];
    }
}
