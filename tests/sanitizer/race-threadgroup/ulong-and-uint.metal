// A ulong read covers the upper word that another SIMD-group wrote.
// launch: --threads 64 --group 64 --arg out=zeros:u64:2
#include <metal_stdlib>
using namespace metal;

kernel void overlap(device ulong *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup ulong wide[1];
    threadgroup uint *words = reinterpret_cast<threadgroup uint *>(wide);
    if (lid < 2) {
        words[lid] = 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid == 3) {
        words[1] = 7; //~ race-threadgroup 1
    }
    if (lid == 40) {
        out[0] = wide[0]; //~ race-threadgroup 2
    }
}
