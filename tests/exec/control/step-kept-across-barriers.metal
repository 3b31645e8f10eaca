// A loop of the threadgroup steps by a number that was read before its barriers, behind a return.
//! kernel: blocks
//! groups: 1,2
//! group: 64
//! arg 0: u32 2 150 64
//! arg 1: f32 1*150 2*150
//! arg 2: f32 0*6
//! expect 2: f32 64 64 22 128 128 44

#include <metal_stdlib>
using namespace metal;

struct Sizes { uint rows, columns, block; };

kernel void blocks(constant Sizes& sizes [[buffer(0)]], device const float* in [[buffer(1)]], device float* out [[buffer(2)]],
                   uint2 at [[thread_position_in_threadgroup]], uint2 group [[threadgroup_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]])
{
    uint row = group.y;
    if (row >= sizes.rows) return;
    uint count = (sizes.columns + sizes.block - 1) / sizes.block;
    device const float* start = in + row * sizes.columns;
    threadgroup float sums[8];
    for (uint n = 0; n < count; n++) {
        uint first = n * sizes.block;
        uint length = min(first + sizes.block, sizes.columns) - first;
        float sum = 0;
        for (uint i = at.x; i < length; i += 64) sum += start[first + i];
        sum = simd_sum(sum);
        if (lane == 0) sums[simdgroup] = sum;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (at.x == 0) out[row * count + n] = sums[0] + sums[1];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float scale = out[row * count + n];
        for (uint i = at.x; i < length; i += 64) sum += start[first + i] / scale;
        if (sum < 0) out[row * count + n] = sum;
    }
}
