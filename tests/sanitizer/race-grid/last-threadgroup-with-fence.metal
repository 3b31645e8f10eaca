// Each threadgroup has a fence before and after it counts up: the chain of additions orders all partial sums.
// launch: --threads 128 --group 32 --arg done=zeros:u32:1 --arg partial=zeros:f32:4 --arg out=zeros:f32:1
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device atomic_uint *done [[buffer(0)]], device float *partial [[buffer(1)]],
                   device float *out [[buffer(2)]], uint gid [[thread_position_in_grid]],
                   uint lid [[thread_position_in_threadgroup]],
                   uint group [[threadgroup_position_in_grid]],
                   uint groups [[threadgroups_per_grid]]) {
    float sum = simd_sum(float(gid));
    if (lid == 0) {
        partial[group] = sum;
        atomic_thread_fence(mem_flags::mem_device, memory_order_release, thread_scope_device);
        if (atomic_fetch_add_explicit(done, 1, memory_order_relaxed) == groups - 1) {
            atomic_thread_fence(mem_flags::mem_device, memory_order_acquire, thread_scope_device);
            float total = 0.0f;
            for (uint i = 0; i < groups; ++i) {
                total += partial[i];
            }
            out[0] = total;
        }
    }
}
