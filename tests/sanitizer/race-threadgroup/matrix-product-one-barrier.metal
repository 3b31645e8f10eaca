// The tiled product without the barrier after the use: the columns of the next tile overwrite those in use.
// launch: --threads 8,8 --group 8,8 --arg b=iota:f32:128 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void columns(device const float *b [[buffer(0)]], device float *out [[buffer(1)]],
                    uint2 lid [[thread_position_in_threadgroup]]) {
    threadgroup float right[8][8];
    float sum = 0.0f;
    for (uint tile = 0; tile < 2; ++tile) {
        right[lid.y ^ 4][lid.x] = b[tile * 64 + lid.y * 8 + lid.x]; //~ race-threadgroup 1
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += right[lid.y][lid.x]; //~ race-threadgroup 2
    }
    out[lid.y * 8 + lid.x] = sum;
}
