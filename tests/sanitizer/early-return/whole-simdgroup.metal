// The second SIMD-group returns as a whole before the barrier.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void one(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    if (simdgroup == 1) {
        return;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); //~ early-return
    out[lid] = 1.0f;
}
