// Reading and writing components in any order, twice, and by index.
//! covers: MSL 2.2.1
//! oracle: clang
//! kernel: mix
//! arg 0: f32 0*10
//! expect 0: f32 4 3 2 1 1 9 3 8 2 2

#include <metal_stdlib>
using namespace metal;

kernel void mix(device float* flat [[buffer(0)]]) {
    float4 v = float4(1, 2, 3, 4);
    device float4* out = (device float4*)flat;
    out[0] = v.wzyx;
    float4 w = v;
    w.yw = float2(9, 8);
    out[1] = w;
    float2 same = v.yy;
    flat[8] = same.x;
    flat[9] = v.rgba[1];
}
