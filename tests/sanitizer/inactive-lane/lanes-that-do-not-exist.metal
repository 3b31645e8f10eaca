// The second SIMD-group has one thread, which takes values of lanes that do not exist.
// launch: --threads 33 --group 33 --arg out=zeros:u32:528
#include <metal_stdlib>
using namespace metal;

kernel void exchange(device uint *out [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) {
    uint x = t;
    out[0 * 33 + t] = simd_shuffle(x, 1); //~ inactive-lane
    out[1 * 33 + t] = simd_broadcast(x, 31); //~ inactive-lane
    out[2 * 33 + t] = simd_shuffle_xor(x, 1); //~ inactive-lane
    out[3 * 33 + t] = simd_shuffle_down(x, 1); //~ inactive-lane
    out[4 * 33 + t] = simd_shuffle_rotate_up(x, 1); //~ inactive-lane
    out[5 * 33 + t] = simd_shuffle_rotate_down(x, 1); //~ inactive-lane
    out[6 * 33 + t] = simd_shuffle_and_fill_up(x, x, 1); //~ inactive-lane
    out[7 * 33 + t] = simd_shuffle_and_fill_down(x, x, 1); //~ inactive-lane
    out[8 * 33 + t] = quad_shuffle(x, 1); //~ inactive-lane
    out[9 * 33 + t] = quad_broadcast(x, 1); //~ inactive-lane
    out[10 * 33 + t] = quad_shuffle_xor(x, 2); //~ inactive-lane
    out[11 * 33 + t] = quad_shuffle_down(x, 1); //~ inactive-lane
    out[12 * 33 + t] = quad_shuffle_rotate_up(x, 1); //~ inactive-lane
    out[13 * 33 + t] = quad_shuffle_rotate_down(x, 1); //~ inactive-lane
    out[14 * 33 + t] = quad_shuffle_and_fill_up(x, x, 1); //~ inactive-lane
    out[15 * 33 + t] = quad_shuffle_and_fill_down(x, x, 1); //~ inactive-lane
}
