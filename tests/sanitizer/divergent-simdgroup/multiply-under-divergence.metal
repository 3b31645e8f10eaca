// A lane does not take part in the multiplication.
// launch: --threads 32 --group 32 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void multiply(device float *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 a = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
    simdgroup_float8x8 c = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    if (lane != 7) {
        simdgroup_multiply_accumulate(c, a, a, c); //~ divergent-simdgroup
    }
    simdgroup_store(c, out, 8);
}
