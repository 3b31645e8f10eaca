// The threads return after the last barrier.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64 --arg n=u32:50
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void guarded(device float *out [[buffer(0)]], constant uint &n [[buffer(1)]],
                    uint lid [[thread_position_in_threadgroup]],
                    uint gid [[thread_position_in_grid]]) {
    threadgroup float tile[64];
    tile[lid] = float(gid);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (gid >= n) {
        return;
    }
    out[gid] = tile[63 - lid];
}
