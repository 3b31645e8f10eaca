// A histogram by plain additions: the addition of another SIMD-group is lost.
// launch: --threads 64 --group 64 --arg out=zeros:u32:2
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup uint bins[2];
    if (lid < 2) {
        bins[lid] = 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid % 32 == 5) {
        bins[0] += lid; //~ race-threadgroup 12
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid < 2) {
        out[lid] = bins[lid];
    }
}
