// Attributes of threads whose types depend on each other (MSL 5.2.3.6).
#include <metal_stdlib>
using namespace metal;

kernel void dimensions(device float* out [[buffer(0)]], uint2 i [[thread_position_in_grid]],
                       uint3 group [[threadgroup_position_in_grid]]) //~ thread-attribute-types: the same number of components
{
    out[i.x] = group.x;
}

// A scalar goes with vectors.
kernel void scalar(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]],
                   uint3 group [[threadgroup_position_in_grid]], ushort lane [[thread_index_in_simdgroup]],
                   ushort part [[simdgroup_index_in_threadgroup]])
{
    out[i] = group.x + lane + part;
}

kernel void grid(device float* out [[buffer(0)]], uint2 i [[thread_position_in_grid]],
                 ushort2 size [[threads_per_grid]]) //~ thread-attribute-types: must have the same type
{
    out[i.x] = size.x;
}

kernel void lanes(device float* out [[buffer(0)]], ushort lane [[thread_index_in_simdgroup]],
                  uint part [[simdgroup_index_in_threadgroup]]) //~ thread-attribute-types: must have the same type
{
    out[lane] = part;
}

kernel void index(device float* out [[buffer(0)]], uint3 position [[thread_position_in_threadgroup]],
                  ushort i [[thread_index_in_threadgroup]]) //~ thread-attribute-types: must both be of `uint`
{
    out[i] = position.x;
}
