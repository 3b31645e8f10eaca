// Kernels with arguments of every kind.
#include <metal_stdlib>
using namespace metal;

struct Params {
    uint width;
    float scale;
    short offset;
};

kernel void with_struct(device float* out [[buffer(0)]], constant Params& params [[buffer(1)]],
                        uint i [[thread_position_in_grid]])
{
    out[i] = params.scale * float(i % params.width) + float(params.offset);
}

kernel void with_vectors(device const float4* in [[buffer(0)]], device float4* out [[buffer(1)]],
                         device half* small [[buffer(2)]], uint i [[thread_position_in_grid]])
{
    out[i] = in[i].wzyx;
    small[i] = half(in[i].x);
}

kernel void with_memory(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                        threadgroup int* shared [[threadgroup(0)]],
                        uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                        uint n [[threads_per_threadgroup]])
{
    shared[t] = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = shared[n - 1 - t];
}

constant int factor [[function_constant(0)]];
constant bool shifted [[function_constant(1)]];

kernel void with_constants(device int* out [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    out[i] = factor * int(i) + (shifted ? 100 : 0);
}

#ifndef STEP
#define STEP 1
#endif

kernel void with_macros(device int* out [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    out[i] = STEP * int(i);
}

[[max_total_threads_per_threadgroup(64)]]
kernel void with_limit(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]],
                       uint n [[dispatch_threads_per_threadgroup]])
{
    out[i] = n;
}

struct Box {
    float low[3];
    float high[3];
};

kernel void with_lists(device float* out [[buffer(0)]], constant uint3& sizes [[buffer(1)]],
                       constant Box& box [[buffer(2)]], device const int3* points [[buffer(3)]],
                       constant float3x2& m [[buffer(4)]])
{
    out[0] = float(sizes.x * 100 + sizes.y * 10 + sizes.z);
    out[1] = box.high[2] - box.low[0];
    out[2] = float(points[0].z);
    out[3] = m[2].y;
}
