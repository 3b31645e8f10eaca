// Swizzles, members and compound assignments: each writes the whole vector.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

struct Pair { float3 first; float2 second; };

kernel void components(device float *out [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float4 sums;
    threadgroup Pair pair;
    if (i == 0) {
        sums.xy = float2(1); //~ race-threadgroup a1
        pair.second.x = 1; //~ race-threadgroup b1
    }
    if (i == 32) {
        sums.zw = float2(2); //~ race-threadgroup a2
        pair.second.y = 2; //~ race-threadgroup b2
        pair.first.x = 3;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = sums.x + sums.z + pair.second.x;
}
