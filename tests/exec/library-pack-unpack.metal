// <metal_pack>: components from the lowest bits on, except 565, whose first is the highest.
//! covers: MSL 6.14
//! math: safe
//! kernel: packing
//! arg 0: u32 0*27
//! expect 0: u32 1*26 0
//! arg 1: u32 0x804080ff 0xff807f01 0x7fff8001 0xc00003ff
//! arg 2: f32 -2 -1 -0.5 0 0.25 0.5 1 3 nan
#include <metal_stdlib>
using namespace metal;
#define CHECK(C) out[n++] = (C) ? 1 : 0;

kernel void packing(device uint* out [[buffer(0)]], device const uint* u [[buffer(1)]], device const float* f [[buffer(2)]]) {
  uint n = 0;
  CHECK(all(unpack_unorm4x8_to_float(u[0]) == float4(1.0f, 128.0f / 255.0f, 64.0f / 255.0f, 128.0f / 255.0f)))
  CHECK(all(unpack_snorm4x8_to_float(u[1]) == float4(1.0f / 127.0f, 1.0f, -1.0f, -1.0f / 127.0f)))
  CHECK(all(unpack_snorm2x16_to_float(u[2]) == float2(-1.0f, 1.0f))) CHECK(all(unpack_unorm2x16_to_float(0xffff0000u | u[1] * 0) == float2(0, 1)))
  CHECK(all(unpack_unorm10a2_to_float(u[3]) == float4(1, 0, 0, 1))) CHECK(all(unpack_snorm10a2_to_float(0x600801ffu + u[1] * 0).xzw == float3(1, -1, 1)))
  CHECK(all(unpack_unorm565_to_float(ushort(0xf800 + u[1] * 0)) == float3(1, 0, 0))) CHECK(all(unpack_unorm565_to_float(ushort(0x001f + u[1] * 0)) == float3(0, 0, 1)))
  CHECK(all(unpack_unorm4x8_to_half(u[0]) == half4(unpack_unorm4x8_to_float(u[0])))) CHECK(all(unpack_snorm2x16_to_half(u[2]) == half2(-1, 1)))
  CHECK(unpack_unorm4x8_srgb_to_float(u[0]).x == 1 && unpack_unorm4x8_srgb_to_float(u[0]).w == 128.0f / 255.0f)
  CHECK(abs(unpack_unorm4x8_srgb_to_float(u[0]).y - 0.21586f) < 1e-4f) CHECK(pack_float_to_srgb_unorm4x8(unpack_unorm4x8_srgb_to_float(u[0])) == u[0])
  CHECK(pack_float_to_unorm4x8(float4(f[0], f[5], f[7], f[3])) == 0x00ff8000u) CHECK(pack_float_to_snorm4x8(float4(f[0], f[6], f[2], f[3])) == 0x00c07f81u)
  CHECK(pack_float_to_unorm4x8(unpack_unorm4x8_to_float(u[0])) == u[0]) CHECK(pack_float_to_snorm4x8(unpack_snorm4x8_to_float(0xff817f01u + u[1] * 0)) == 0xff817f01u)
  CHECK(pack_float_to_unorm2x16(float2(f[6], f[3])) == 0xffffu) CHECK(pack_float_to_snorm2x16(float2(f[1], f[7])) == 0x7fff8001u)
  CHECK(pack_float_to_unorm10a2(float4(f[6], f[3], f[6], f[6])) == 0xfff003ffu) CHECK(pack_float_to_unorm565(float3(f[6], f[3], f[6])) == 0xf81f)
  CHECK(pack_half_to_unorm4x8(half4(half(f[6]), 0, 1, 0)) == 0x00ff00ffu) CHECK(pack_half_to_snorm2x16(half2(half(f[1]), 1)) == 0x7fff8001u)
  CHECK(pack_half_to_unorm565(half3(0, half(f[6]), 0)) == 0x07e0) CHECK(pack_float_to_unorm4x8(float4(f[8])) == 0) CHECK(pack_float_to_snorm10a2(float4(f[1], f[3], f[6], f[1])) == 0xdff00201u)
}
