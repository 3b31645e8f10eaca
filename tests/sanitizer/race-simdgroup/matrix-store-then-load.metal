// simdgroup_store leaves open which lane writes which element: a plain read needs a simdgroup_barrier.
// launch: --threads 32 --group 32 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void store(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    simdgroup_float8x8 ones = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
    simdgroup_store(ones, tile, 8); //~ race-simdgroup 1
    out[lid] = tile[63 - lid]; //~ race-simdgroup 2
    out[lid + 32] = 0.0f;
}
