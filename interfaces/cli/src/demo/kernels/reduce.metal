// Sums: each thread adds a strided part, each threadgroup halves 256 partial sums in a tree.
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device const float* values [[buffer(0)]],
                   device float* partial [[buffer(1)]],
                   constant uint& n [[buffer(2)]],
                   uint tid [[thread_index_in_threadgroup]],
                   uint group [[threadgroup_position_in_grid]],
                   uint width [[threads_per_threadgroup]],
                   uint i [[thread_position_in_grid]]) {
    threadgroup float shared[256];
    shared[tid] = i < n ? values[i] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint half_width = width / 2; half_width > 0; half_width /= 2) {
        if (tid < half_width) {
            shared[tid] += shared[tid + half_width];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (tid == 0) {
        partial[group] = shared[0];
    }
}
