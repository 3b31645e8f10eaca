// Softmax of each row; one threadgroup of 256 threads a row.
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device const float* source [[buffer(0)]],
                    device float* target [[buffer(1)]],
                    constant uint& columns [[buffer(2)]],
                    uint row [[threadgroup_position_in_grid]],
                    uint tid [[thread_index_in_threadgroup]],
                    uint width [[threads_per_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]],
                    uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup float partial[32];
    device const float* in = source + size_t(row) * columns;
    device float* out = target + size_t(row) * columns;

    float greatest = -INFINITY;
    for (uint c = tid; c < columns; c += width) {
        greatest = max(greatest, in[c]);
    }
    greatest = simd_max(greatest);
    if (lane == 0) {
        partial[simdgroup] = greatest;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    greatest = simd_max(lane < simdgroups ? partial[lane] : -INFINITY);
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float sum = 0;
    for (uint c = tid; c < columns; c += width) {
        float e = exp(in[c] - greatest);
        out[c] = e;
        sum += e;
    }
    sum = simd_sum(sum);
    if (lane == 0) {
        partial[simdgroup] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = simd_sum(lane < simdgroups ? partial[lane] : 0.0f);

    float scale = 1.0f / sum;
    for (uint c = tid; c < columns; c += width) {
        out[c] *= scale;
    }
}
