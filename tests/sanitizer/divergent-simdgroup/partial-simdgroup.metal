// The threadgroup has 48 threads: its second SIMD-group is not full when it stores its matrix.
// launch: --threads 48 --group 48 --arg out=zeros:f32:128
#include <metal_stdlib>
using namespace metal;

kernel void store(device float *out [[buffer(0)]],
                  uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    simdgroup_float8x8 m = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
    simdgroup_store(m, out + 64 * simdgroup, 8); //~ divergent-simdgroup
}
