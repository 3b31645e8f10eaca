#include <metal_stdlib>
using namespace metal;

// No family has more than 32 KiB of threadgroup memory.
kernel void most(device float* out, uint i [[thread_position_in_threadgroup]])
{
    threadgroup float tile[8192];
    tile[i] = out[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[i ^ 1];
}

kernel void too_much(device float* out, uint i [[thread_position_in_threadgroup]])
{
    threadgroup float tile[8192];
    threadgroup float edge[64];
    tile[i] = out[i];
    edge[i % 64] = out[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[i ^ 1] + edge[i % 64 ^ 1];
}
