// Shuffles by lane, by difference, by xor; broadcasts.
//! covers: MSL 6.9.2
//! kernel: move
//! groups: 1
//! group: 32
//! arg 0: i32 0*128
//! expect 0: i32 31 30 29 28 27 26 25 24 23 22 21 20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0 5 4 7 6 1 0 3 2 13 12 15 14 9 8 11 10 21 20 23 22 17 16 19 18 29 28 31 30 25 24 27 26 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 99

#include <metal_stdlib>
using namespace metal;

kernel void move(device int* out, uint i [[thread_index_in_threadgroup]]) {
    int lane = int(i);
    out[i] = simd_shuffle(lane, ushort(31 - i));
    out[32 + i] = simd_shuffle_xor(lane, 5);
    out[64 + i] = simd_broadcast(lane, 7);
    int down = simd_shuffle_down(lane, 1);
    out[96 + i] = i < 31 ? down : 99;
}
