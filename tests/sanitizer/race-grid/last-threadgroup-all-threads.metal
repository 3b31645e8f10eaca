// One thread counts up; a barrier passes the order on to the other threads of its threadgroup, which read.
// launch: --threads 128 --group 32 --arg done=zeros:u32:1 --arg partial=zeros:f32:128 --arg out=zeros:f32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device atomic_uint *done [[buffer(0)]], device float *partial [[buffer(1)]],
                   device float *out [[buffer(2)]], uint gid [[thread_position_in_grid]],
                   uint lid [[thread_position_in_threadgroup]],
                   uint groups [[threadgroups_per_grid]]) {
    threadgroup uint is_last;
    partial[gid] = float(gid);
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    if (lid == 0) {
        atomic_thread_fence(mem_flags::mem_device, memory_order_release, thread_scope_device);
        uint before = atomic_fetch_add_explicit(done, 1, memory_order_relaxed);
        atomic_thread_fence(mem_flags::mem_device, memory_order_acquire, thread_scope_device);
        is_last = before == groups - 1 ? 1 : 0;
    }
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    if (is_last != 0) {
        float total = 0.0f;
        for (uint i = 0; i < groups; ++i) {
            total += partial[i * 32 + lid];
        }
        out[lid] = total;
    }
}
