// A read of one component and a write of another are of one object.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void components(device float *out [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float4 sums;
    if (i == 0) {
        sums = float4(1);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 32) {
        sums.y = 2; //~ race-threadgroup 2
    }
    out[i] = i < 32 ? sums.x : 0; //~ race-threadgroup 1
}
