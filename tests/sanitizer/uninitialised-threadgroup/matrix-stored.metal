// simdgroup_store writes the whole tile.
// launch: --threads 32 --group 32 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void store(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    simdgroup_store(make_filled_simdgroup_matrix<float, 8, 8>(2.0f), tile, 8);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid];
    out[lid + 32] = tile[lid + 32];
}
