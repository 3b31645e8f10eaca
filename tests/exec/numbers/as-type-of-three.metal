// A vector of three components has the size of four (MSL 2.21).
//! covers: MSL 2.21
//! kernel: three
//! arg 0: f32 1 2 3 4 5 6 7 8
//! arg 1: u32 0*10
//! expect 1: u32 0x3f800000 0x40000000 0x40400000 0x40a00000 0x40c00000 0x40e00000 1 0x3c00 0x4000 0x4200

#include <metal_stdlib>
using namespace metal;

constant float3 folded = as_type<float3>(int4(0x3f800000, 0x40000000, 0x40400000, 1));

kernel void three(device const float4* in [[buffer(0)]], device uint* out [[buffer(1)]]) {
    float3 first = as_type<float3>(in[0]);
    uint3 second = as_type<uint3>(in[1]);
    out[0] = as_type<uint>(first.x);
    out[1] = as_type<uint>(first.y);
    out[2] = as_type<uint>(first.z);
    out[3] = second.x;
    out[4] = second.y;
    out[5] = second.z;
    uint4 wide = as_type<uint4>(first);
    out[6] = all(wide.xyz == uint3(out[0], out[1], out[2])) && all(folded == first);
    ushort3 halves = as_type<ushort3>(half4(half3(first), 1.0h));
    out[7] = halves.x;
    out[8] = halves.y;
    out[9] = halves.z;
}
