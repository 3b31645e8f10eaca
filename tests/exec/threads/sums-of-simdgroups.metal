// After a barrier every SIMD-group adds up what all of them left: whole and partial threadgroups.
//! arg 0: u32 0..320
//! arg 1: u32 0*320
//! kernel: total
//! threads: 256
//! group: 128
//! expect 1: u32 8128*128 24512*128
//! kernel: total
//! threads: 300
//! group: 256
//! expect 1: u32 32640*256 12210*44
//! kernel: total
//! threads: 100
//! group: 100
//! expect 1: u32 4950*100
//! kernel: overwritten
//! threads: 128
//! group: 64
//! expect 1: u32 7*64 71*64
//! kernel: chosen
//! threads: 128
//! group: 64
//! expect 1: u32 (0*32 64*32) *2

#include <metal_stdlib>
using namespace metal;

kernel void total(device const uint* in, device uint* out, uint i [[thread_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
                  uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup uint sums[32];
    uint sum = simd_sum(in[i]);
    if (lane == 0) sums[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint part;
    if (lane < simdgroups) part = sums[lane]; else part = 0;
    out[i] = simd_sum(part);
}

// What is read after the barrier is written in the same interval again, by one thread, after it reads.
kernel void overwritten(device const uint* in, device uint* out, uint i [[thread_position_in_grid]],
                        uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint value;
    if (t == 7) value = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint mine = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 9) value = 1000;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = mine + (value - 1000);
}

// Each SIMD-group writes its own words and reads them back without a barrier.
kernel void chosen(device const uint* in, device uint* out, uint i [[thread_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint words[2];
    words[lane & 1] = 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) words[simdgroup] = simdgroup * 64;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == 1 && lane == 3) words[0] = words[0];
    out[i] = words[simdgroup];
}
