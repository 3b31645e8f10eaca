// The barrier between simdgroup_store and the plain reads of its elements orders them.
// launch: --threads 32 --group 32 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void store(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    simdgroup_float8x8 ones = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
    simdgroup_store(ones, tile, 8);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[63 - lid];
    out[lid + 32] = tile[lid];
}
