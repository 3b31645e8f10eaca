// Barriers of the grid: what any thread wrote before is seen after, and what a thread keeps in registers, in
// private arrays and in threadgroup memory stays.
//! kernel: rotate
//! threads: 100
//! group: 32
//! arg 0: i32 0..100
//! arg 1: i32 0*100
//! arg 2: i32 7
//! expect 0: i32 7..100 0..7
//! kernel: tree
//! threads: 256
//! group: 64
//! arg 0: u32 0..256
//! expect 0: u32 32640
//! kernel: leave
//! groups: 4
//! group: 1
//! arg 0: u32 0
//! arg 1: u32 0*4
//! expect 1: u32 4 7 9 10
//! kernel: planes
//! groups: 2,3,2
//! group: 4,2
//! arg 0: u32 0*12
//! arg 1: u32 0*96
//! expect 1: u32 96*96

#include <metal_stdlib>
#include <anymetal_groups>
using namespace metal;

kernel void rotate(device int* x, device int* y, constant int& rounds, uint i [[thread_position_in_grid]],
                   uint n [[threads_per_grid]], uint lid [[thread_index_in_threadgroup]],
                   uint width [[threads_per_threadgroup]]) {
    threadgroup int kept[32];
    int own[3] = { int(i), int(i) * 2, int(i) * 3 };
    for (int round = 0; round < rounds; round++) {
        kept[width - 1 - lid] = x[(i + 1) % n];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        anymetal::grid_sync();
        // The other buffer's turn: everyone has read.
        y[i] = kept[width - 1 - lid] + own[round % 3] - int(i) * (round % 3 + 1);
        anymetal::grid_sync();
        x[i] = y[i];
        anymetal::grid_sync();
    }
}

kernel void tree(device uint* x, uint i [[thread_position_in_grid]], uint n [[threads_per_grid]]) {
    anymetal::grid_group grid = anymetal::this_grid();
    for (uint step = n / 2; step > 0; step /= 2) {
        if (i < step) x[i] += x[i + step];
        grid.sync();
    }
}

// Threadgroups end one after the other; the others go on without them.
kernel void leave(device atomic_uint* total, device uint* seen, uint group [[threadgroup_position_in_grid]]) {
    for (uint round = 0; round <= group; round++) {
        atomic_fetch_add_explicit(total, 1u, memory_order_relaxed);
        anymetal::grid_sync();
        uint now = atomic_load_explicit(total, memory_order_relaxed);
        if (group == 3) seen[round] = now;
        anymetal::grid_sync();
    }
}

kernel void planes(device uint* parts, device uint* y) {
    threadgroup uint scratch[32];
    anymetal::grid_group grid = anymetal::this_grid();
    y[grid.rank()] = grid.reduce(1u, anymetal::plus(), parts, scratch);
}
