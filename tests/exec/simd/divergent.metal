// Only the lanes that are together take part.
//! covers: MSL 6.9.2
//! kernel: split
//! groups: 1
//! group: 32
//! arg 0: i32 0*32
//! expect 0: i32 240 16 240 16 240 16 240 16 240 16 240 16 240 16 240 16 240 16 240 16 240 16 240 16 240 16 240 16 240 16 240 16

#include <metal_stdlib>
using namespace metal;

kernel void split(device int* out, uint i [[thread_index_in_threadgroup]]) {
    int result;
    if (i % 2 == 0) result = simd_sum(int(i));
    else result = simd_sum(1);
    out[i] = result;
}
