// The halo of the tile is never written.
// launch: --threads 32 --group 32 --arg data=iota:f32:32 --arg out=zeros:f32:32
#include <metal_stdlib>
using namespace metal;

kernel void smooth(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                   uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[34];
    tile[lid + 1] = data[lid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid + 2]; //~ uninitialised-threadgroup
}
