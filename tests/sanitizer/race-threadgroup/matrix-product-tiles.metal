// A tiled matrix product with a barrier before and after the use of the tiles.
// launch: --threads 16,16 --group 8,8 --arg a=iota:f32:256 --arg b=iota:f32:256 --arg out=zeros:f32:256
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void multiply(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                     device float *out [[buffer(2)]], uint2 gid [[thread_position_in_grid]],
                     uint2 lid [[thread_position_in_threadgroup]]) {
    threadgroup float left[8][8];
    threadgroup float right[8][8];
    float sum = 0.0f;
    for (uint tile = 0; tile < 16; tile += 8) {
        left[lid.y][lid.x] = a[gid.y * 16 + tile + lid.x];
        right[lid.y][lid.x] = b[(tile + lid.y) * 16 + gid.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < 8; ++k) {
            sum += left[lid.y][k] * right[k][lid.x];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[gid.y * 16 + gid.x] = sum;
}
