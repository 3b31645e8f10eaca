// Sum, minimum, maximum, and, or over full and partial SIMD-groups.
//! covers: MSL 6.9.2
//! kernel: reduce
//! groups: 1
//! group: 40
//! arg 0: i32 0*200
//! expect 0: i32 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 496 0 31 0 31 284 32 39 32 39 284 32 39 32 39 284 32 39 32 39 284 32 39 32 39 284 32 39 32 39 284 32 39 32 39 284 32 39 32 39 284 32 39 32 39

#include <metal_stdlib>
using namespace metal;

kernel void reduce(device int* out, uint i [[thread_index_in_threadgroup]]) {
    int value = int(i);
    out[5 * i] = simd_sum(value);
    out[5 * i + 1] = simd_min(value);
    out[5 * i + 2] = simd_max(value);
    out[5 * i + 3] = simd_and(value);
    out[5 * i + 4] = simd_or(value);
}
