// <anymetal_groups>: tiles, SIMD-groups, threadgroups and the grid, with threadgroups that are cut off.
//! kernel: tiles
//! threads: 64
//! group: 64
//! arg 0: u32 0*64
//! arg 1: u32 0*64
//! arg 2: u32 0*64
//! arg 3: u32 0*64
//! expect 0: u32 28*8 92*8 156*8 220*8 284*8 348*8 412*8 476*8
//! expect 1: u32 (0..8) *8
//! expect 2: u32 (3 2 1 0) *16
//! expect 3: u32 0x11*64
//! kernel: threadgroup_of_70
//! threads: 70
//! group: 70
//! arg 0: i32 0*70
//! arg 1: i32 0*70
//! arg 2: i32 0*70
//! arg 3: i32 0*70
//! arg 4: u32 0*4
//! expect 0: i32 1..71
//! expect 1: i32 0..70
//! expect 2: i32 69*70
//! expect 3: i32 69..-1..-1
//! expect 4: u32 1 0 0 1
//! kernel: grid_of_3
//! threads: 110
//! group: 40
//! arg 0: u32 0*3
//! arg 1: u32 0*110
//! arg 2: f32 0*110
//! arg 3: u32 0*2
//! expect 1: u32 1..111
//! expect 2: f32 109*110
//! expect 3: u32 1 0

#include <metal_stdlib>
#include <anymetal_groups>
using namespace metal;

kernel void tiles(device uint* sums, device uint* scans, device uint* turned, device uint* votes,
                  uint i [[thread_position_in_grid]]) {
    auto eight = anymetal::this_tile<8>();
    auto four = anymetal::this_tile<4>();
    sums[i] = eight.reduce(i, anymetal::plus());
    scans[i] = eight.exclusive_scan(1u, anymetal::plus());
    turned[i] = four.shuffle(four.rank(), 3 - four.rank());
    votes[i] = uint(eight.ballot((i & 3) == 0));
}

kernel void threadgroup_of_70(device int* inclusive, device int* exclusive, device int* most, device int* turned,
                              device uint* votes, uint i [[thread_position_in_grid]]) {
    threadgroup int scratch[128];
    threadgroup uint flags[32];
    auto group = anymetal::this_threadgroup();
    inclusive[i] = group.inclusive_scan(1, anymetal::plus(), scratch);
    exclusive[i] = group.exclusive_scan(1, anymetal::plus(), scratch);
    most[i] = group.reduce(int(i), anymetal::maximum(), scratch);
    turned[i] = group.shuffle(int(i), 69 - i, scratch);
    uint any = group.any(i == 69, flags), all = group.all(i < 69, flags);
    uint none = group.any(i == 70, flags), each = group.all(i < 70, flags);
    if (i == 0) { votes[0] = any; votes[1] = all; votes[2] = none; votes[3] = each; }
}

kernel void grid_of_3(device uint* parts, device uint* scans, device float* most, device uint* votes,
                      uint i [[thread_position_in_grid]]) {
    threadgroup uint scratch[32];
    threadgroup float floats[32];
    auto grid = anymetal::this_grid();
    scans[i] = grid.inclusive_scan(1u, anymetal::plus(), parts, scratch);
    most[i] = grid.reduce(float(i), anymetal::maximum(), (device float*)parts, floats);
    uint any = grid.any(i == 109, parts, scratch), all = grid.all(i < 109, parts, scratch);
    if (i == 0) { votes[0] = any; votes[1] = all; }
}
