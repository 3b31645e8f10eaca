// A barrier with flags after the one without orders the accesses.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
// options: --enable barrier-mem-none
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void shift(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[lid] = float(lid);
    threadgroup_barrier(mem_flags::mem_none);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid ^ 32];
}
