// The argument's memory is exchanged across a barrier.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64 --threadgroup-memory 0=256
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void shift(device float *out [[buffer(0)]], threadgroup float *tile [[threadgroup(0)]],
                  uint lid [[thread_position_in_threadgroup]]) {
    tile[lid] = float(lid);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[63 - lid];
}
