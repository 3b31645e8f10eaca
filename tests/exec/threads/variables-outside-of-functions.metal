// Facts about the thread as variables outside of functions, which every function sees.
//! covers: MSL 5.9
//! kernel: places
//! groups: 2,2
//! group: 2,2
//! arg 0: u32 0*16
//! arg 1: u32 0*16
//! expect 0: u32 0 1 10 11 100 101 110 111 200 201 210 211 300 301 310 311
//! expect 1: u32 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404

#include <metal_stdlib>
using namespace metal;

uint3 threadIdx [[thread_position_in_threadgroup]];
const ushort2 blockIdx [[threadgroup_position_in_grid]];
uint2 blockDim [[threads_per_threadgroup]];
uint2 extent [[threads_per_grid]];

namespace place
{
    uint lane [[thread_index_in_threadgroup]];
    uint of_group() { return blockIdx.y * 2 + blockIdx.x; }
}

uint index()
{
    return place::of_group() * 4 + place::lane;
}

kernel void places(device uint* where [[buffer(0)]], device uint* size [[buffer(1)]])
{
    where[index()] = place::of_group() * 100 + threadIdx.y * 10 + threadIdx.x;
    size[index()] = extent.x * 100 + blockDim.x + blockDim.y;
}
