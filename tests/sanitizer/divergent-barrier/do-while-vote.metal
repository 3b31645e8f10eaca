// The loop ends for all threads of a SIMD-group together, by a vote; the threadgroup is one SIMD-group.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void grow(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    uint value = lid + 1;
    do {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        value *= 2;
    } while (simd_any(value < 32));
    out[lid] = value;
}
