// <metal_pack>.
#include <metal_stdlib>
using namespace metal;

#define IS(T, E) { static_assert(is_same_v<decltype(E), T>, #E); T r = E; (void)r; }

kernel void packing(device float4* f [[buffer(0)]], device half4* h [[buffer(1)]], device uint* u [[buffer(2)]]) {
  uint x = u[0];
  float4 y = f[0];
  half4 z = h[0];
  IS(float4, unpack_unorm4x8_to_float(x)) IS(float4, unpack_snorm4x8_to_float(x)) IS(float4, unpack_unorm4x8_srgb_to_float(x))
  IS(float2, unpack_unorm2x16_to_float(x)) IS(float2, unpack_snorm2x16_to_float(x)) IS(float4, unpack_unorm10a2_to_float(x))
  IS(float4, unpack_snorm10a2_to_float(x)) IS(float3, unpack_unorm565_to_float(ushort(x)))
  IS(half4, unpack_unorm4x8_to_half(x)) IS(half4, unpack_snorm4x8_to_half(x)) IS(half4, unpack_unorm4x8_srgb_to_half(x))
  IS(half2, unpack_unorm2x16_to_half(x)) IS(half2, unpack_snorm2x16_to_half(x)) IS(half4, unpack_unorm10a2_to_half(x))
  IS(half4, unpack_snorm10a2_to_half(x)) IS(half3, unpack_unorm565_to_half(ushort(x)))
  IS(uint, pack_float_to_unorm4x8(y)) IS(uint, pack_float_to_snorm4x8(y)) IS(uint, pack_float_to_srgb_unorm4x8(y))
  IS(uint, pack_float_to_unorm2x16(y.xy)) IS(uint, pack_float_to_snorm2x16(y.xy)) IS(uint, pack_float_to_unorm10a2(y))
  IS(uint, pack_float_to_snorm10a2(y)) IS(ushort, pack_float_to_unorm565(y.xyz))
  IS(uint, pack_half_to_unorm4x8(z)) IS(uint, pack_half_to_snorm4x8(z)) IS(uint, pack_half_to_srgb_unorm4x8(z))
  IS(uint, pack_half_to_unorm2x16(z.xy)) IS(uint, pack_half_to_snorm2x16(z.xy)) IS(uint, pack_half_to_unorm10a2(z))
  IS(uint, pack_half_to_snorm10a2(z)) IS(ushort, pack_half_to_unorm565(z.xyz))
}
