// all, any, ballot, the first lane.
//! covers: MSL 6.9.2
//! kernel: vote
//! groups: 1
//! group: 32
//! arg 0: u32 0*5
//! expect 0: u32 0 1 1 0xfffff000 3

#include <metal_stdlib>
using namespace metal;

kernel void vote(device uint* out, uint i [[thread_index_in_threadgroup]]) {
    bool late = i >= 12;
    bool all_late = simd_all(late), any_late = simd_any(late);
    uint bits = uint(uint64_t(simd_ballot(late)));
    uint first = 0;
    if (i >= 3) first = simd_broadcast_first(i);
    if (i == 5) {
        out[0] = all_late;
        out[1] = any_late;
        out[2] = simd_all(true);
        out[3] = bits;
        out[4] = first;
    }
}
