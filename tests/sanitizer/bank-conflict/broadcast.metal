// All lanes read the same word: one access serves all.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
// options: --enable bank-conflict
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void broadcast(device float *out [[buffer(0)]],
                      uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32];
    tile[lid] = float(lid);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[7];
}
