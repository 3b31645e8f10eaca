// Two halves share a word: lanes that access the same word do not conflict.
// launch: --threads 32 --group 32 --arg out=zeros:f16:32
// options: --enable bank-conflict
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void halves(device half *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup half tile[32];
    tile[lid] = half(lid);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[31 - lid];
}
