// The scan in place with one barrier a step: an element is overwritten while others read it.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
#include <metal_stdlib>
using namespace metal;

kernel void scan(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup uint sums[64];
    sums[lid] = lid;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint sum = sums[lid] + (lid >= 32 ? sums[lid - 32] : 0); //~ race-threadgroup 2
    sums[lid] = sum; //~ race-threadgroup 1
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = sums[lid];
}
