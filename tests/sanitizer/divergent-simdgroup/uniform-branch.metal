// One SIMD-group as a whole loads and stores.
// launch: --threads 64 --group 64 --arg data=iota:f32:64 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void one(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    if (simdgroup == 1) {
        simdgroup_float8x8 m;
        simdgroup_load(m, data, 8);
        simdgroup_store(m, out, 8);
    }
}
