// Threads past the end return before the barrier: undefined, though Apple's GPUs count them as arrived.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64 --arg n=u32:50
#include <metal_stdlib>
using namespace metal;

kernel void guarded(device float *out [[buffer(0)]], constant uint &n [[buffer(1)]],
                    uint gid [[thread_position_in_grid]]) {
    if (gid >= n) {
        return;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); //~ early-return
    out[gid] = 1.0f;
}
