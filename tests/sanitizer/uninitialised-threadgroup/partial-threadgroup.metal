// In the last, partial threadgroup fewer threads fill the tile; the read is guarded by the same count.
// launch: --threads 80 --group 64 --arg out=zeros:f32:80 --arg n=u32:80
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void copy(device float *out [[buffer(0)]], constant uint &n [[buffer(1)]],
                 uint lid [[thread_position_in_threadgroup]],
                 uint gid [[thread_position_in_grid]],
                 uint group [[threadgroup_position_in_grid]]) {
    threadgroup float tile[64];
    tile[lid] = float(gid);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint valid = min(64u, n - group * 64u);
    out[gid] = tile[valid - 1 - lid];
}
