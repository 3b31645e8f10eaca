// Relaxed additions, maxima, bit operations of all threads on single words.
//! covers: MSL 2.6, MSL 6.15
//! kernel: count
//! threads: 100
//! group: 32
//! arg 0: u32 0 0 0xffffffff 0 1000
//! arg 1: i32 0
//! expect 0: u32 100 99 0 127 901
//! expect 1: i32 -99

#include <metal_stdlib>
using namespace metal;

kernel void count(device atomic_uint* all, device atomic_int* low, uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&all[0], 1u, memory_order_relaxed);
    atomic_fetch_max_explicit(&all[1], i, memory_order_relaxed);
    atomic_fetch_min_explicit(&all[2], i, memory_order_relaxed);
    atomic_fetch_or_explicit(&all[3], i, memory_order_relaxed);
    atomic_fetch_sub_explicit(&all[4], i < 99 ? 1u : 0u, memory_order_relaxed);
    atomic_fetch_min_explicit(low, -int(i), memory_order_relaxed);
}
