// Sums that a loop keeps in memory, a structure's member per sum: several iterations, one, none, lanes with different
// trip counts; accumulators out of bounds, and accumulators that another argument or index reads.
//! covers: C++ stmt.for
//! threads: 40
//! group: 40
//! kernel: members
//! arg 0: i32 (1 2) *40
//! arg 1: i32 5
//! expect 0: i32 (11 22) *40
//! kernel: members
//! arg 0: i32 (1 2) *40
//! arg 1: i32 0
//! expect 0: i32 (1 2) *40
//! kernel: by_lane
//! arg 0: i32 0*40
//! expect 0: i32 0..40
//! kernel: members
//! arg 0: i32 (1 2) *38 7
//! arg 1: i32 2
//! expect 0: i32 (5 10) *38 11
//! faults: yes
//! kernel: observed
//! arg 0: i32 0*20
//! arg 1: i32 0*40
//! expect 0: i32 3*20
//! expect 1: i32 2*20 0*20
//! faults: yes
//! kernel: through_another
//! arg 0: i32 1*40
//! arg 1: same 0
//! expect 0: i32 8*40
//! kernel: by_another_index
//! arg 0: i32 1 0*39
//! threads: 1
//! group: 1
//! expect 0: i32 1*40
//! kernel: in_threadgroup
//! arg 0: i32 0*80
//! threads: 40
//! group: 40
//! expect 0: i32 (6 36) *40
//! kernel: stored_first
//! arg 0: i32 9*40
//! arg 1: i32 3
//! expect 0: i32 4*40
//! kernel: stored_first
//! arg 0: i32 9*40
//! arg 1: i32 0
//! expect 0: i32 9*40
//! kernel: largest
//! arg 0: i32 3*40
//! expect 0: i32 3*4 4..40
//! kernel: with_an_inner_loop
//! arg 0: i32 0*40
//! expect 0: i32 10*40
//! kernel: leaving
//! arg 0: i32 0*40
//! expect 0: i32 0..10 10*30

#include <metal_stdlib>
using namespace metal;

struct Pair {
    int a, b;
};

kernel void members(device Pair* sums, constant int& n, uint t [[thread_position_in_grid]]) {
    for (int i = 0; i < n; i++) {
        sums[t].a += 2;
        sums[t].b += 4;
    }
}

kernel void by_lane(device int* sums, uint t [[thread_position_in_grid]]) {
    for (uint i = 0; i < t; i++) sums[t]++;
}

// Out of bounds each load is zero, whatever was stored before.
kernel void observed(device int* sums, device int* seen, uint t [[thread_position_in_grid]]) {
    for (int i = 0; i < 3; i++) {
        int sum = sums[t];
        seen[t] = sum;
        sums[t] = sum + 1;
    }
}

// Both arguments are the same buffer.
kernel void through_another(device int* sums, device int* others, uint t [[thread_position_in_grid]]) {
    for (int i = 0; i < 3; i++) sums[t] += others[t];
}

kernel void by_another_index(device int* sums) {
    for (int i = 1; i < 40; i++) {
        sums[0] += 0;
        sums[i] = sums[i - 1];
    }
}

kernel void in_threadgroup(device int* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup Pair sums[40];
    sums[t].a = 0;
    sums[t].b = 6;
    for (int i = 0; i < 4; i++) sums[t].a += i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint other = 39 - t;
    for (int i = 0; i < 5; i++) sums[other].b += sums[other].a;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[2 * t] = sums[t].a;
    out[2 * t + 1] = sums[t].b;
}

kernel void stored_first(device int* sums, constant int& n, uint t [[thread_position_in_grid]]) {
    for (int i = 0; i < n; i++) {
        sums[t] = i;
        if (i > 1) sums[t] += i;
    }
}

kernel void largest(device int* sums, uint t [[thread_position_in_grid]]) {
    for (int i = 0; i <= int(t); i++) sums[t] = i > sums[t] ? i : sums[t];
}

kernel void with_an_inner_loop(device int* sums, uint t [[thread_position_in_grid]]) {
    int i = 0;
    do {
        sums[t] += 1;
        for (int k = 0; k < i; k++) sums[t] += 1;
        i++;
    } while (i < 4);
}

kernel void leaving(device int* sums, uint t [[thread_position_in_grid]]) {
    for (uint i = 0; i < 10; i++) {
        if (i == t) break;
        sums[t] += 1;
    }
}
