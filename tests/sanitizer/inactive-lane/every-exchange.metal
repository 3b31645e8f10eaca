// Odd lanes take values of even lanes, which do not take part, by every function that exchanges values.
// launch: --threads 32 --group 32 --arg out=zeros:u32:704
#include <metal_stdlib>
using namespace metal;

kernel void exchange(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    uint x = lane;
    if (lane % 2 == 1) {
        out[0 * 32 + lane] = simd_shuffle(x, ushort(lane - 1)); //~ inactive-lane
        out[1 * 32 + lane] = simd_broadcast(x, 0); //~ inactive-lane
        out[2 * 32 + lane] = simd_shuffle_xor(x, 1); //~ inactive-lane
        out[3 * 32 + lane] = simd_shuffle_up(x, 1); //~ inactive-lane
        out[4 * 32 + lane] = simd_shuffle_down(x, 1); //~ inactive-lane
        out[5 * 32 + lane] = simd_shuffle_rotate_up(x, 1); //~ inactive-lane
        out[6 * 32 + lane] = simd_shuffle_rotate_down(x, 1); //~ inactive-lane
        out[7 * 32 + lane] = simd_shuffle_and_fill_up(x, x, 1); //~ inactive-lane
        out[8 * 32 + lane] = simd_shuffle_and_fill_down(x, x, 1); //~ inactive-lane
        out[9 * 32 + lane] = simd_shuffle_and_fill_up(x, x, 3, 4); //~ inactive-lane
        out[10 * 32 + lane] = simd_shuffle_and_fill_down(x, x, 1, 4); //~ inactive-lane
        out[11 * 32 + lane] = quad_shuffle(x, 0); //~ inactive-lane
        out[12 * 32 + lane] = quad_broadcast(x, 2); //~ inactive-lane
        out[13 * 32 + lane] = quad_shuffle_xor(x, 1); //~ inactive-lane
        out[14 * 32 + lane] = quad_shuffle_up(x, 1); //~ inactive-lane
        out[15 * 32 + lane] = quad_shuffle_down(x, 1); //~ inactive-lane
        out[16 * 32 + lane] = quad_shuffle_rotate_up(x, 1); //~ inactive-lane
        out[17 * 32 + lane] = quad_shuffle_rotate_down(x, 1); //~ inactive-lane
        out[18 * 32 + lane] = quad_shuffle_and_fill_up(x, x, 1); //~ inactive-lane
        out[19 * 32 + lane] = quad_shuffle_and_fill_down(x, x, 1); //~ inactive-lane
        out[20 * 32 + lane] = quad_shuffle_and_fill_up(x, x, 1, 2); //~ inactive-lane
        out[21 * 32 + lane] = quad_shuffle_and_fill_down(x, x, 1, 2); //~ inactive-lane
    }
}
