// Reductions, prefixes, votes and the first lane's value are defined for any active lanes, in partial groups too.
// launch: --threads 33 --group 33 --arg out=zeros:u32:1188
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void combine(device uint *out [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) {
    uint x = t;
    if (t % 3 != 1) {
        out[0 * 33 + t] = simd_sum(x);
        out[1 * 33 + t] = simd_product(x);
        out[2 * 33 + t] = simd_min(x);
        out[3 * 33 + t] = simd_max(x);
        out[4 * 33 + t] = simd_and(x);
        out[5 * 33 + t] = simd_or(x);
        out[6 * 33 + t] = simd_xor(x);
        out[7 * 33 + t] = simd_prefix_inclusive_sum(x);
        out[8 * 33 + t] = simd_prefix_exclusive_sum(x);
        out[9 * 33 + t] = simd_prefix_inclusive_product(x);
        out[10 * 33 + t] = simd_prefix_exclusive_product(x);
        out[11 * 33 + t] = simd_broadcast_first(x);
        out[12 * 33 + t] = simd_shuffle_up(x, 0);
        out[13 * 33 + t] = uint(simd_all(x > 3));
        out[14 * 33 + t] = uint(simd_any(x > 3));
        out[15 * 33 + t] = uint(simd_ballot(x > 3).any());
        out[16 * 33 + t] = uint(simd_active_threads_mask().all());
        out[17 * 33 + t] = uint(simd_is_first());
        out[18 * 33 + t] = quad_sum(x);
        out[19 * 33 + t] = quad_product(x);
        out[20 * 33 + t] = quad_min(x);
        out[21 * 33 + t] = quad_max(x);
        out[22 * 33 + t] = quad_and(x);
        out[23 * 33 + t] = quad_or(x);
        out[24 * 33 + t] = quad_xor(x);
        out[25 * 33 + t] = quad_prefix_inclusive_sum(x);
        out[26 * 33 + t] = quad_prefix_exclusive_sum(x);
        out[27 * 33 + t] = quad_prefix_inclusive_product(x);
        out[28 * 33 + t] = quad_prefix_exclusive_product(x);
        out[29 * 33 + t] = quad_broadcast_first(x);
        out[30 * 33 + t] = quad_shuffle_up(x, 0);
        out[31 * 33 + t] = uint(quad_all(x > 3));
        out[32 * 33 + t] = uint(quad_any(x > 3));
        out[33 * 33 + t] = uint(quad_ballot(x > 3).any());
        out[34 * 33 + t] = uint(quad_active_threads_mask().all());
        out[35 * 33 + t] = uint(quad_is_first());
    }
}
