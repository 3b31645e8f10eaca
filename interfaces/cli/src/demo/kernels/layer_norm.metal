// Layer normalisation of rows of up to four elements a thread: one threadgroup a row, float4 loads, SIMD-group
// sums. The variance is that of the differences from the mean, which are still in registers.
#include <metal_stdlib>
using namespace metal;

static float threadgroup_sum(float value, threadgroup float* partial, uint lane, uint simdgroup, uint simdgroups) {
    value = simd_sum(value);
    if (lane == 0) {
        partial[simdgroup] = value;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_sum(lane < simdgroups ? partial[lane] : 0.0f);
}

kernel void layer_norm(device const float* source [[buffer(0)]],
                       device float* target [[buffer(1)]],
                       device const float* weight [[buffer(2)]],
                       device const float* bias [[buffer(3)]],
                       constant uint& columns [[buffer(4)]],
                       constant float& epsilon [[buffer(5)]],
                       uint row [[threadgroup_position_in_grid]],
                       uint tid [[thread_index_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]],
                       uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup float sums[32];
    threadgroup float squares[32];
    device const float4* in = (device const float4*)(source + size_t(row) * columns);
    device float4* out = (device float4*)(target + size_t(row) * columns);
    bool inside = 4 * tid < columns;

    float4 value = inside ? in[tid] : float4(0);
    float mean = threadgroup_sum(value.x + value.y + value.z + value.w, sums, lane, simdgroup, simdgroups) / columns;
    float4 d = inside ? value - mean : float4(0);
    float variance = threadgroup_sum(dot(d, d), squares, lane, simdgroup, simdgroups) / columns;
    float scale = rsqrt(variance + epsilon);
    if (inside) {
        out[tid] = d * scale * ((device const float4*)weight)[tid] + ((device const float4*)bias)[tid];
    }
}
