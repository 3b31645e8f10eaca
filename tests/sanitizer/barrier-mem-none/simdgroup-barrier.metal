// A simdgroup_barrier without flags between lanes of a SIMD-group.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
// options: --enable barrier-mem-none
#include <metal_stdlib>
using namespace metal;

kernel void exchange(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32];
    tile[lid] = float(lid); //~ barrier-mem-none 1
    simdgroup_barrier(mem_flags::mem_none);
    out[lid] = tile[lid ^ 1]; //~ barrier-mem-none 2
}
