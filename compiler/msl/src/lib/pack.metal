// <metal_pack>. The first component is in the lowest bits of 4x8, 2x16 and 10a2, in the highest of 565.

namespace metal {

// One component to and from its bits; NaN becomes 0.
uint __lib_pack_unorm(float x, float scale) { return uint(__am_rint(__am_fmin(__am_fmax(x, 0.0f), 1.0f) * scale)); }
uint __lib_pack_snorm(float x, float scale, uint mask) {
  float clamped = __am_select(__am_fmin(__am_fmax(x, -1.0f), 1.0f), 0.0f, __am_isnan(x));
  return uint(int(__am_rint(clamped * scale))) & mask;
}
float __lib_unpack_snorm(uint x, int bits, float scale) {
  return __am_fmax(float(int(x << (32 - bits)) >> (32 - bits)) / scale, -1.0f);
}
float __lib_srgb_to_linear(float x) {
  return x <= 0.04045f ? x / 12.92f : __am_powr((x + 0.055f) / 1.055f, 2.4f);
}
float __lib_linear_to_srgb(float x) {
  float c = __am_fmin(__am_fmax(x, 0.0f), 1.0f);
  return c < 0.0031308f ? c * 12.92f : 1.055f * __am_powr(c, 1.0f / 2.4f) - 0.055f;
}

float4 unpack_unorm4x8_to_float(uint x) {
  return float4(uint4(x & 255u, (x >> 8) & 255u, (x >> 16) & 255u, x >> 24)) / 255.0f;
}
float4 unpack_snorm4x8_to_float(uint x) {
  return float4(__lib_unpack_snorm(x, 8, 127.0f), __lib_unpack_snorm(x >> 8, 8, 127.0f),
                __lib_unpack_snorm(x >> 16, 8, 127.0f), __lib_unpack_snorm(x >> 24, 8, 127.0f));
}
float4 unpack_unorm4x8_srgb_to_float(uint x) {
  float4 c = unpack_unorm4x8_to_float(x);
  return float4(__lib_srgb_to_linear(c.x), __lib_srgb_to_linear(c.y), __lib_srgb_to_linear(c.z), c.w);
}
float2 unpack_unorm2x16_to_float(uint x) { return float2(uint2(x & 65535u, x >> 16)) / 65535.0f; }
float2 unpack_snorm2x16_to_float(uint x) {
  return float2(__lib_unpack_snorm(x, 16, 32767.0f), __lib_unpack_snorm(x >> 16, 16, 32767.0f));
}
float4 unpack_unorm10a2_to_float(uint x) {
  return float4(uint4(x & 1023u, (x >> 10) & 1023u, (x >> 20) & 1023u, x >> 30)) / float4(1023.0f, 1023.0f, 1023.0f, 3.0f);
}
float4 unpack_snorm10a2_to_float(uint x) {
  return float4(__lib_unpack_snorm(x, 10, 511.0f), __lib_unpack_snorm(x >> 10, 10, 511.0f),
                __lib_unpack_snorm(x >> 20, 10, 511.0f), __lib_unpack_snorm(x >> 30, 2, 1.0f));
}
float3 unpack_unorm565_to_float(ushort x) {
  uint v = x;
  return float3(uint3(v >> 11, (v >> 5) & 63u, v & 31u)) / float3(31.0f, 63.0f, 31.0f);
}

half4 unpack_unorm4x8_to_half(uint x) { return half4(unpack_unorm4x8_to_float(x)); }
half4 unpack_snorm4x8_to_half(uint x) { return half4(unpack_snorm4x8_to_float(x)); }
half4 unpack_unorm4x8_srgb_to_half(uint x) { return half4(unpack_unorm4x8_srgb_to_float(x)); }
half2 unpack_unorm2x16_to_half(uint x) { return half2(unpack_unorm2x16_to_float(x)); }
half2 unpack_snorm2x16_to_half(uint x) { return half2(unpack_snorm2x16_to_float(x)); }
half4 unpack_unorm10a2_to_half(uint x) { return half4(unpack_unorm10a2_to_float(x)); }
half4 unpack_snorm10a2_to_half(uint x) { return half4(unpack_snorm10a2_to_float(x)); }
half3 unpack_unorm565_to_half(ushort x) { return half3(unpack_unorm565_to_float(x)); }

uint pack_float_to_unorm4x8(float4 x) {
  return __lib_pack_unorm(x.x, 255.0f) | __lib_pack_unorm(x.y, 255.0f) << 8 | __lib_pack_unorm(x.z, 255.0f) << 16 |
         __lib_pack_unorm(x.w, 255.0f) << 24;
}
uint pack_float_to_snorm4x8(float4 x) {
  return __lib_pack_snorm(x.x, 127.0f, 255u) | __lib_pack_snorm(x.y, 127.0f, 255u) << 8 |
         __lib_pack_snorm(x.z, 127.0f, 255u) << 16 | __lib_pack_snorm(x.w, 127.0f, 255u) << 24;
}
uint pack_float_to_srgb_unorm4x8(float4 x) {
  return pack_float_to_unorm4x8(
      float4(__lib_linear_to_srgb(x.x), __lib_linear_to_srgb(x.y), __lib_linear_to_srgb(x.z), x.w));
}
uint pack_float_to_unorm2x16(float2 x) { return __lib_pack_unorm(x.x, 65535.0f) | __lib_pack_unorm(x.y, 65535.0f) << 16; }
uint pack_float_to_snorm2x16(float2 x) {
  return __lib_pack_snorm(x.x, 32767.0f, 65535u) | __lib_pack_snorm(x.y, 32767.0f, 65535u) << 16;
}
uint pack_float_to_unorm10a2(float4 x) {
  return __lib_pack_unorm(x.x, 1023.0f) | __lib_pack_unorm(x.y, 1023.0f) << 10 | __lib_pack_unorm(x.z, 1023.0f) << 20 |
         __lib_pack_unorm(x.w, 3.0f) << 30;
}
uint pack_float_to_snorm10a2(float4 x) {
  return __lib_pack_snorm(x.x, 511.0f, 1023u) | __lib_pack_snorm(x.y, 511.0f, 1023u) << 10 |
         __lib_pack_snorm(x.z, 511.0f, 1023u) << 20 | __lib_pack_snorm(x.w, 1.0f, 3u) << 30;
}
ushort pack_float_to_unorm565(float3 x) {
  return ushort(__lib_pack_unorm(x.x, 31.0f) << 11 | __lib_pack_unorm(x.y, 63.0f) << 5 | __lib_pack_unorm(x.z, 31.0f));
}

uint pack_half_to_unorm4x8(half4 x) { return pack_float_to_unorm4x8(float4(x)); }
uint pack_half_to_snorm4x8(half4 x) { return pack_float_to_snorm4x8(float4(x)); }
uint pack_half_to_srgb_unorm4x8(half4 x) { return pack_float_to_srgb_unorm4x8(float4(x)); }
uint pack_half_to_unorm2x16(half2 x) { return pack_float_to_unorm2x16(float2(x)); }
uint pack_half_to_snorm2x16(half2 x) { return pack_float_to_snorm2x16(float2(x)); }
uint pack_half_to_unorm10a2(half4 x) { return pack_float_to_unorm10a2(float4(x)); }
uint pack_half_to_snorm10a2(half4 x) { return pack_float_to_snorm10a2(float4(x)); }
ushort pack_half_to_unorm565(half3 x) { return pack_float_to_unorm565(float3(x)); }

}
