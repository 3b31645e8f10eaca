// Inclusive prefix sums in three steps: within threadgroups of 256, over their totals, added back.
#include <metal_stdlib>
using namespace metal;

kernel void scan_groups(device const uint* source [[buffer(0)]],
                        device uint* target [[buffer(1)]],
                        device uint* totals [[buffer(2)]],
                        constant uint& n [[buffer(3)]],
                        uint i [[thread_position_in_grid]],
                        uint group [[threadgroup_position_in_grid]],
                        uint tid [[thread_index_in_threadgroup]],
                        uint width [[threads_per_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]],
                        uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup uint sums[32];
    uint value = i < n ? source[i] : 0;
    uint within = simd_prefix_inclusive_sum(value);
    if (lane == 31) {
        sums[simdgroup] = within;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == 0) {
        uint sum = lane < simdgroups ? sums[lane] : 0;
        sums[lane] = simd_prefix_exclusive_sum(sum);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    within += sums[simdgroup];
    if (i < n) {
        target[i] = within;
    }
    if (tid == width - 1) {
        totals[group] = within;
    }
}

kernel void scan_add(device uint* target [[buffer(0)]],
                     device const uint* totals [[buffer(1)]],
                     constant uint& n [[buffer(2)]],
                     uint i [[thread_position_in_grid]],
                     uint group [[threadgroup_position_in_grid]]) {
    if (i < n && group > 0) {
        target[i] += totals[group - 1];
    }
}
