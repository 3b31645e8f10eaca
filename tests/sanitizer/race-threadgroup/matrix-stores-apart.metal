// Each SIMD-group stores its matrix to a tile of its own.
// launch: --threads 64 --group 64 --arg out=zeros:f32:128
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void stores(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float tile[128];
    simdgroup_float8x8 m = make_filled_simdgroup_matrix<float, 8, 8>(float(simdgroup));
    simdgroup_store(m, tile + 64 * simdgroup, 8);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[127 - lid];
    out[lid + 64] = 0.0f;
}
