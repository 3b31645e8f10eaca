// The 8 by 8 tile at the last rows reaches past the end of the buffer.
// launch: --threads 32 --group 32 --arg data=zeros:f32:60 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void copy(device const float *data [[buffer(0)]], device float *out [[buffer(1)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, data, 8); //~ out-of-bounds
    simdgroup_store(m, out, 8);
}
