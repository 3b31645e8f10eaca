// The function constant keeps the barrier.
// launch: --threads 64 --group 64 --constant ordered=bool:true --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

constant bool ordered [[function_constant(0)]];
kernel void shift(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[lid] = float(lid);
    if (ordered) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[lid] = tile[63 - lid];
}
