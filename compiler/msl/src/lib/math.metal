// <metal_math>. One function per type: arguments convert as overload resolution has it, a scalar to a
// vector included. `metal::fast` and `metal::precise` exist for float.

// Declares F for one argument; F calls B.
#define __AM_FLOAT1(F, B) \
  float F(float x) { return B(x); } float2 F(float2 x) { return B(x); } \
  float3 F(float3 x) { return B(x); } float4 F(float4 x) { return B(x); }
#define __AM_HALF1(F, B) \
  half F(half x) { return B(x); } half2 F(half2 x) { return B(x); } \
  half3 F(half3 x) { return B(x); } half4 F(half4 x) { return B(x); }
#define __AM_FLOAT2(F, B) \
  float F(float x, float y) { return B(x, y); } float2 F(float2 x, float2 y) { return B(x, y); } \
  float3 F(float3 x, float3 y) { return B(x, y); } float4 F(float4 x, float4 y) { return B(x, y); }
#define __AM_HALF2(F, B) \
  half F(half x, half y) { return B(x, y); } half2 F(half2 x, half2 y) { return B(x, y); } \
  half3 F(half3 x, half3 y) { return B(x, y); } half4 F(half4 x, half4 y) { return B(x, y); }
// F with one argument for float and half in metal::, for float in metal::fast:: and metal::precise::.
#define __AM_MATH1(F) \
  __AM_FLOAT1(F, __am_##F) __AM_HALF1(F, __am_##F) \
  namespace fast { __AM_FLOAT1(F, __am_fast_##F) } namespace precise { __AM_FLOAT1(F, __am_precise_##F) }
#define __AM_MATH2(F) \
  __AM_FLOAT2(F, __am_##F) __AM_HALF2(F, __am_##F) \
  namespace fast { __AM_FLOAT2(F, __am_fast_##F) } namespace precise { __AM_FLOAT2(F, __am_precise_##F) }

namespace metal {

__AM_MATH1(acos)
__AM_MATH1(acosh)
__AM_MATH1(asin)
__AM_MATH1(asinh)
__AM_MATH1(atan)
__AM_MATH1(atanh)
__AM_MATH1(ceil)
__AM_MATH1(cos)
__AM_MATH1(cosh)
__AM_MATH1(cospi)
__AM_MATH1(exp)
__AM_MATH1(exp2)
__AM_MATH1(exp10)
__AM_MATH1(fabs)
__AM_MATH1(floor)
__AM_MATH1(log)
__AM_MATH1(log2)
__AM_MATH1(log10)
__AM_MATH1(rint)
__AM_MATH1(round)
__AM_MATH1(rsqrt)
__AM_MATH1(sin)
__AM_MATH1(sinh)
__AM_MATH1(sinpi)
__AM_MATH1(sqrt)
__AM_MATH1(tan)
__AM_MATH1(tanh)
__AM_MATH1(tanpi)
__AM_MATH1(trunc)

__AM_MATH2(atan2)
__AM_MATH2(copysign)
__AM_MATH2(divide)
__AM_MATH2(fmax)
__AM_MATH2(fmin)
__AM_MATH2(fmod)
__AM_MATH2(nextafter)
__AM_MATH2(pow)
__AM_MATH2(powr)

// The other names of some of them.
#define __AM_ALIASES(P) \
  __AM_FLOAT1(abs, P##fabs) __AM_FLOAT2(max, P##fmax) __AM_FLOAT2(min, P##fmin)
__AM_ALIASES(__am_)
__AM_HALF1(abs, __am_fabs) __AM_HALF2(max, __am_fmax) __AM_HALF2(min, __am_fmin)
namespace fast { __AM_ALIASES(__am_fast_) }
namespace precise { __AM_ALIASES(__am_precise_) }
#undef __AM_ALIASES

// The fraction of x, whose whole part is known: of x's sign, 0 for infinities.
template <typename T> T __lib_modf(T x, T whole) { return __am_copysign(__am_select(x - whole, T(0), __am_isinf(x)), x); }

// The distance from the whole number below, which may round up to 1; NaN for NaN and infinities.
template <typename T> T __lib_fract(T above, T most) { return __am_select(above, most, above > most); }

// What is made of several builtins: per type T, with I the integers of its length, BELOW the greatest
// number below 1, and P the builtins' prefix.
#define __AM_MIXED(T, I, BELOW, P) \
  T fma(T x, T y, T z) { return P##fma(x, y, z); } \
  T fdim(T x, T y) { return __am_select(x - y, T(0), x <= y); } \
  T fract(T x) { return __lib_fract(x - P##floor(x), T(BELOW)); } \
  T fmax3(T x, T y, T z) { return P##fmax(x, P##fmax(y, z)); } \
  T fmin3(T x, T y, T z) { return P##fmin(x, P##fmin(y, z)); } \
  T fmedian3(T x, T y, T z) { return P##fmax(P##fmin(x, y), P##fmin(P##fmax(x, y), z)); } \
  T max3(T x, T y, T z) { return P##fmax(x, P##fmax(y, z)); } \
  T min3(T x, T y, T z) { return P##fmin(x, P##fmin(y, z)); } \
  T median3(T x, T y, T z) { return P##fmax(P##fmin(x, y), P##fmin(P##fmax(x, y), z)); } \
  T clamp(T x, T low, T high) { return P##fmin(P##fmax(x, low), high); } \
  T saturate(T x) { return P##fmin(P##fmax(x, T(0)), T(1)); } \
  T sincos(T x, thread T& cosine) { cosine = P##cos(x); return P##sin(x); } \
  T modf(T x, thread T& whole) { return __lib_modf(x, whole = P##trunc(x)); } \
  T frexp(T x, thread I& exponent) { exponent = __am_frexp_exponent(x); return __am_frexp_mantissa(x); } \
  T ldexp(T x, I k) { return __am_ldexp(x, k); } \
  I ilogb(T x) { return __am_ilogb(x); }

#define __AM_MIXED_FLOAT(P) \
  __AM_MIXED(float, int, 0x1.fffffep-1f, P) __AM_MIXED(float2, int2, 0x1.fffffep-1f, P) \
  __AM_MIXED(float3, int3, 0x1.fffffep-1f, P) __AM_MIXED(float4, int4, 0x1.fffffep-1f, P)
__AM_MIXED_FLOAT(__am_)
__AM_MIXED(half, int, 0x1.ffcp-1h, __am_)
__AM_MIXED(half2, int2, 0x1.ffcp-1h, __am_)
__AM_MIXED(half3, int3, 0x1.ffcp-1h, __am_)
__AM_MIXED(half4, int4, 0x1.ffcp-1h, __am_)
namespace fast { __AM_MIXED_FLOAT(__am_fast_) }
namespace precise { __AM_MIXED_FLOAT(__am_precise_) }
#undef __AM_MIXED_FLOAT
#undef __AM_MIXED

// <metal_common>, but for clamp and saturate.
template <typename T> T __lib_sign(T x) {
  return __am_select(__am_select(__am_select(x, T(0), __am_isnan(x)), T(1), x > T(0)), T(-1), x < T(0));
}
template <typename T> T __lib_smoothstep(T edge0, T edge1, T x) {
  T t = __am_fmin(__am_fmax((x - edge0) / (edge1 - edge0), T(0)), T(1));
  return t * t * (T(3) - T(2) * t);
}
#define __AM_COMMON(T) \
  T mix(T x, T y, T a) { return x + (y - x) * a; } \
  T sign(T x) { return __lib_sign(x); } \
  T step(T edge, T x) { return __am_select(T(1), T(0), x < edge); } \
  T smoothstep(T edge0, T edge1, T x) { return __lib_smoothstep(edge0, edge1, x); }
__AM_COMMON(float) __AM_COMMON(float2) __AM_COMMON(float3) __AM_COMMON(float4)
__AM_COMMON(half) __AM_COMMON(half2) __AM_COMMON(half3) __AM_COMMON(half4)
#undef __AM_COMMON

}

#undef __AM_MATH1
#undef __AM_MATH2
#undef __AM_FLOAT1
#undef __AM_FLOAT2
#undef __AM_HALF1
#undef __AM_HALF2
