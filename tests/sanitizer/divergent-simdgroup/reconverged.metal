// A divergent branch ends before the matrix functions.
// launch: --threads 32 --group 32 --arg out=zeros:f32:64 --arg side=zeros:f32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void store(device float *out [[buffer(0)]], device float *side [[buffer(1)]],
                  uint lane [[thread_index_in_simdgroup]]) {
    if (lane % 2 == 0) {
        side[lane] = 1.0f;
    }
    simdgroup_float8x8 m = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
    simdgroup_store(m, out, 8);
}
