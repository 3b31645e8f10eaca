// Lanes have returned before simdgroup_store.
// launch: --threads 32 --group 32 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void store(device float *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 m = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
    if (lane >= 24) {
        return;
    }
    simdgroup_store(m, out, 8); //~ divergent-simdgroup
}
