// A matrix product in a loop that all lanes execute alike.
// launch: --threads 32 --group 32 --arg a=iota:f32:128 --arg b=iota:f32:128 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void multiply(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                     device float *out [[buffer(2)]]) {
    simdgroup_float8x8 c = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    for (uint k = 0; k < 16; k += 8) {
        simdgroup_float8x8 left;
        simdgroup_float8x8 right;
        simdgroup_load(left, a + k, 16);
        simdgroup_load(right, b + k * 8, 8);
        simdgroup_multiply_accumulate(c, left, right, c);
    }
    simdgroup_store(c, out, 8);
}
