// The threadgroup argument has 4 bytes for each thread.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32 --threadgroup-memory 0=128
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void copy(device float *out [[buffer(0)]], threadgroup float *tile [[threadgroup(0)]],
                 uint lid [[thread_position_in_threadgroup]]) {
    tile[lid] = float(lid);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[31 - lid];
}
