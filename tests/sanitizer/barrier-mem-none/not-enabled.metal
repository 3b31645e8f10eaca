// Without the lint a barrier without flags counts as a full one: known kernels rely on it.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void shift(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[lid] = float(lid);
    threadgroup_barrier(mem_flags::mem_none);
    out[lid] = tile[lid ^ 32];
}
