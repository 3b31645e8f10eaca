// Inclusive and exclusive prefix sums.
//! covers: MSL 6.9.2
//! kernel: scan
//! groups: 1
//! group: 32
//! arg 0: i32 0*64
//! expect 0: i32 0 1 3 6 10 15 21 28 36 45 55 66 78 91 105 120 136 153 171 190 210 231 253 276 300 325 351 378 406 435 465 496 0 0 1 3 6 10 15 21 28 36 45 55 66 78 91 105 120 136 153 171 190 210 231 253 276 300 325 351 378 406 435 465

#include <metal_stdlib>
using namespace metal;

kernel void scan(device int* out, uint i [[thread_index_in_threadgroup]]) {
    out[i] = simd_prefix_inclusive_sum(int(i));
    out[32 + i] = simd_prefix_exclusive_sum(int(i));
}
