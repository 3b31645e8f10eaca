// Barriers in a loop that only some lanes of each SIMD-group enter, or leave after different numbers of rounds.
//! covers: MSL 6.9.1
//! threads: 64
//! group: 64
//! barriers: divergent
//! kernel: entered
//! arg 0: u32 0xffffffff*64
//! arg 1: u32 5
//! expect 0: u32 728 732 736 740 744 0*27 600 604 608 612 616 0*27
//! kernel: entered
//! arg 0: u32 0xffffffff*64
//! arg 1: u32 0
//! expect 0: u32 0*64
//! kernel: rounds
//! arg 0: u32 0xffffffff*64
//! expect 0: u32 0 33 168 405 744 1185 1728 2373 3120 3969 4920 5973 7128 8385 9744 11205 12768 14433 16200 18069 20040 22113 24288 26565 28944 31425 34008 36693 39480 42369 45360 48453 0 1 104 309 616 1025 1536 2149 2864 3681 4600 5621 6744 7969 9296 10725 12256 13889 15624 17461 19400 21441 23584 25829 28176 30625 33176 35829 38584 41441 44400 47461

#include <metal_stdlib>
using namespace metal;

kernel void entered(device uint* out, constant uint& lanes, uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint numbers[64];
    uint sum = 0;
    if (t % 32 < lanes) {
        for (uint round = 0; round < 4; round++) {
            numbers[t] = t + 100 * round;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            sum += numbers[(t + 32) % 64];
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
    out[t] = sum;
}

kernel void rounds(device uint* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint numbers[64];
    uint sum = 0;
    for (uint round = 0; round < t % 32; round++) {
        numbers[t] = t + 100 * round;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += numbers[(t + 32) % 64];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[t] = sum;
}
