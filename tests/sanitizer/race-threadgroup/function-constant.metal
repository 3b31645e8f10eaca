// A function constant switches the barrier off.
// launch: --threads 64 --group 64 --constant ordered=bool:false --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

constant bool ordered [[function_constant(0)]];
kernel void shift(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[lid] = float(lid); //~ race-threadgroup 1
    if (ordered) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (lid >= 32) {
        out[lid] = tile[lid - 32]; //~ race-threadgroup 2
    }
}
