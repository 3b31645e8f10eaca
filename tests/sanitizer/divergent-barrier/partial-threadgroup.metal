// The last threadgroup has fewer threads; all that exist reach the barrier.
// launch: --threads 80 --group 64 --arg out=zeros:u32:80
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void partial(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]],
                    uint lid [[thread_position_in_threadgroup]]) {
    threadgroup uint tile[64];
    tile[lid] = gid;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[gid] = tile[lid & ~15u];
}
