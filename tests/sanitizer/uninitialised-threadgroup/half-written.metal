// Only half of the tile is written before the barrier; all of it is read.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void half_tile(device float *out [[buffer(0)]],
                      uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    if (lid < 32) {
        tile[lid] = float(lid);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid]; //~ uninitialised-threadgroup
}
