// Contiguous float4: lanes take turns, and each turn needs every bank once.
// launch: --threads 32 --group 32 --arg out=zeros:f32:128
// options: --enable bank-conflict
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void contiguous(device float4 *out [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float4 tile[32];
    tile[i] = out[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[31 - i];
}
