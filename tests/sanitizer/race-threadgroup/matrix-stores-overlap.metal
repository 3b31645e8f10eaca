// Two SIMD-groups store their matrices to the same tile.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void stores(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float tile[64];
    simdgroup_float8x8 m = make_filled_simdgroup_matrix<float, 8, 8>(float(simdgroup));
    simdgroup_store(m, tile, 8); //~ race-threadgroup 12
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid];
}
