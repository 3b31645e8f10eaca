// From scalars, from smaller and larger vectors, by splatting, by conversion.
//! covers: MSL 2.2.2
//! kernel: build
//! arg 0: i32 0*16
//! expect 0: i32 1 2 3 4 7 7 7 7 1 -2 3 0 1 2 3 1

#include <metal_stdlib>
using namespace metal;

kernel void build(device int4* out) {
    int2 pair = int2(2, 3);
    out[0] = int4(1, pair, 4);
    out[1] = int4(7);
    float3 real = float3(1.9f, -2.9f, 3.0f);
    out[2] = int4(int3(real), 0);
    // Of a larger one the first elements.
    float4 more = float4(1.5f, 2.5f, 3.5f, 4.5f);
    out[3] = int4(int3(more), half2(more).x);
}
