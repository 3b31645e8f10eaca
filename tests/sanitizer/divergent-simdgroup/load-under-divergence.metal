// Half of the SIMD-group executes simdgroup_load.
// launch: --threads 32 --group 32 --arg data=iota:f32:64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void load(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                 uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 m = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    if (lane < 16) {
        simdgroup_load(m, data, 8); //~ divergent-simdgroup
    }
    simdgroup_store(m, out, 8);
}
