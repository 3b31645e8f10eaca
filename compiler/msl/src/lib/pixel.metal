// <metal_pixel> (section 2.7): pixels of a format in memory, which are loaded and stored as values of the type
// that programs name. They are coded as the texels of textures are.

namespace metal {

float4 __lib_pixel_color(float x) { return float4(x, 0, 0, 0); }
float4 __lib_pixel_color(float2 x) { return float4(x, 0, 0); }
float4 __lib_pixel_color(float3 x) { return float4(x, 0); }
float4 __lib_pixel_color(float4 x) { return x; }
float4 __lib_pixel_color(half x) { return float4(float(x), 0, 0, 0); }
float4 __lib_pixel_color(half2 x) { return float4(float2(x), 0, 0); }
float4 __lib_pixel_color(half3 x) { return float4(float3(x), 0); }
float4 __lib_pixel_color(half4 x) { return float4(x); }

// The part of a format's word (`__lib_decode`) that says where a channel is.
constexpr ulong __lib_pixel_channel(int channel, int width, int position) {
  return ulong(width) << (8 + 13 * channel) | ulong(position) << (14 + 13 * channel);
}

// `Count` units of a type, and the widths of the channels, which follow one another.
template <typename T, typename Unit, int Count, uint Kind, int R, int G = 0, int B = 0, int A = 0, bool Srgb = false> struct __lib_pixel {
  static constant constexpr ulong __format = 1ul << 63 | ulong(Srgb) << 6 | ulong(Kind) << 3 | __lib_pixel_channel(0, R, 0) |
      __lib_pixel_channel(1, G, R) | __lib_pixel_channel(2, B, R + G) | __lib_pixel_channel(3, A, R + G + B);
  static constant constexpr int __bits = 8 * sizeof(Unit);
  Unit __units[Count];

  __lib_pixel() = default;
  __lib_pixel(T value) {
    const uint4 words = __lib_encode(__lib_pixel_color(value), __format);
    for (int i = 0; i < Count; i++) __units[i] = Unit(words[i * __bits / 32] >> (i * __bits % 32));
  }
  operator T() const {
    uint4 words = uint4(0);
    for (int i = 0; i < Count; i++) words[i * __bits / 32] |= uint(__units[i]) << (i * __bits % 32);
    const float4 color = __lib_decode(words, __format, 0.0f);
    if constexpr (is_scalar_v<T>) return T(color.x);
    else return T(color);
  }
#define __AM_ASSIGN(SPACE) \
  SPACE __lib_pixel& operator=(T value) SPACE { \
    const __lib_pixel made = __lib_pixel(value); \
    for (int i = 0; i < Count; i++) __units[i] = made.__units[i]; \
    return *this; \
  }
  __AM_ASSIGN(thread)
  __AM_ASSIGN(device)
  __AM_ASSIGN(threadgroup)
#undef __AM_ASSIGN
};

template <typename T> using r8unorm = __lib_pixel<T, uchar, 1, __lib_unorm, 8>;
template <typename T> using r8snorm = __lib_pixel<T, uchar, 1, __lib_snorm, 8>;
template <typename T> using r16unorm = __lib_pixel<T, ushort, 1, __lib_unorm, 16>;
template <typename T> using r16snorm = __lib_pixel<T, ushort, 1, __lib_snorm, 16>;
template <typename T> using rg8unorm = __lib_pixel<T, uchar, 2, __lib_unorm, 8, 8>;
template <typename T> using rg8snorm = __lib_pixel<T, uchar, 2, __lib_snorm, 8, 8>;
template <typename T> using rg16unorm = __lib_pixel<T, ushort, 2, __lib_unorm, 16, 16>;
template <typename T> using rg16snorm = __lib_pixel<T, ushort, 2, __lib_snorm, 16, 16>;
template <typename T> using rgba8unorm = __lib_pixel<T, uchar, 4, __lib_unorm, 8, 8, 8, 8>;
template <typename T> using srgba8unorm = __lib_pixel<T, uchar, 4, __lib_unorm, 8, 8, 8, 8, true>;
template <typename T> using rgba8snorm = __lib_pixel<T, uchar, 4, __lib_snorm, 8, 8, 8, 8>;
template <typename T> using rgba16unorm = __lib_pixel<T, ushort, 4, __lib_unorm, 16, 16, 16, 16>;
template <typename T> using rgba16snorm = __lib_pixel<T, ushort, 4, __lib_snorm, 16, 16, 16, 16>;
template <typename T> using rgb10a2 = __lib_pixel<T, uint, 1, __lib_unorm, 10, 10, 10, 2>;
template <typename T> using rg11b10f = __lib_pixel<T, uint, 1, __lib_float, 11, 11, 10>;
template <typename T> using rgb9e5 = __lib_pixel<T, uint, 1, __lib_shared_exponent, 9, 9, 9>;

}
