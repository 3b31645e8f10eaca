// A scan of a threadgroup that reads one buffer and writes the other in each step.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void scan(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup uint sums[2][64];
    uint from = 0;
    sums[from][lid] = lid;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 1; step < 64; step *= 2) {
        uint sum = sums[from][lid] + (lid >= step ? sums[from][lid - step] : 0);
        from ^= 1;
        sums[from][lid] = sum;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[lid] = sums[from][lid];
}
