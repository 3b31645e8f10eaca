// Adjacent elements that are copied to threadgroup memory by two conversions each.
//! kernel: copies
//! threads: 2
//! group: 2
//! arg 0: bf16 1..17
//! arg 1: f16 0*16
//! expect 1: f16 9..17 1..9

#include <metal_stdlib>
using namespace metal;

kernel void copies(device const bfloat* from, device half* to, uint t [[thread_position_in_grid]]) {
    threadgroup half shared[16];
    device const bfloat* own = from + 8 * t;
    threadgroup half* tile = shared + 8 * t;
    tile[0] = half(float(own[0]));
    tile[1] = half(float(own[1]));
    tile[2] = half(float(own[2]));
    tile[3] = half(float(own[3]));
    tile[4] = half(float(own[4]));
    tile[5] = half(float(own[5]));
    tile[6] = half(float(own[6]));
    tile[7] = half(float(own[7]));
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < 8; i++) to[8 * t + i] = shared[8 * (1 - t) + i];
}
