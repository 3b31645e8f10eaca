// The barrier has no memory flags and is all that is between the write and the read of another SIMD-group.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
// options: --enable barrier-mem-none
#include <metal_stdlib>
using namespace metal;

kernel void shift(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[lid] = float(lid); //~ barrier-mem-none 1
    threadgroup_barrier(mem_flags::mem_none);
    out[lid] = tile[lid ^ 32]; //~ barrier-mem-none 2
}
