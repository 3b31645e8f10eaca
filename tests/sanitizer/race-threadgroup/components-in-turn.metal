// Components that are written between barriers, each vector by one thread, or as elements of an array: no race.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void components(device float *out [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float4 own[64];
    threadgroup float4 shared;
    threadgroup packed_float3 row[2];
    own[i].x = float(i);
    own[i].yzw = float3(1);
    if (i == 0) {
        shared.x = 1;
        shared.y = 2;
    }
    if (i % 32 == 0) {
        row[i / 32].z = float(i);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 32) {
        shared.z = shared.x;
        shared.w = 3;
    }
    out[i] = own[i].x + own[63 - i].y + row[i / 32].z;
}
