// Every function of <metal_math> for every type, in the three namespaces, with mixed scalar and vector
// arguments. Each use is checked for its type and evaluated, so that its body is checked too.
#include <metal_stdlib>
using namespace metal;

#define IS(T, E) { static_assert(is_same_v<decltype(E), T>, #E); T r = E; (void)r; }

template <typename T> void one_argument(T x) {
  IS(T, acos(x)) IS(T, acosh(x)) IS(T, asin(x)) IS(T, asinh(x)) IS(T, atan(x)) IS(T, atanh(x))
  IS(T, ceil(x)) IS(T, cos(x)) IS(T, cosh(x)) IS(T, cospi(x)) IS(T, exp(x)) IS(T, exp2(x)) IS(T, exp10(x))
  IS(T, fabs(x)) IS(T, abs(x)) IS(T, floor(x)) IS(T, fract(x)) IS(T, log(x)) IS(T, log2(x)) IS(T, log10(x))
  IS(T, rint(x)) IS(T, round(x)) IS(T, rsqrt(x)) IS(T, sin(x)) IS(T, sinh(x)) IS(T, sinpi(x)) IS(T, sqrt(x))
  IS(T, tan(x)) IS(T, tanh(x)) IS(T, tanpi(x)) IS(T, trunc(x)) IS(T, saturate(x)) IS(T, sign(x))
}

template <typename T> void more_arguments(T x, T y, T z) {
  IS(T, atan2(x, y)) IS(T, copysign(x, y)) IS(T, divide(x, y)) IS(T, fdim(x, y)) IS(T, fmax(x, y)) IS(T, fmin(x, y))
  IS(T, fmod(x, y)) IS(T, nextafter(x, y)) IS(T, pow(x, y)) IS(T, powr(x, y)) IS(T, max(x, y)) IS(T, min(x, y))
  IS(T, fma(x, y, z)) IS(T, fmax3(x, y, z)) IS(T, fmin3(x, y, z)) IS(T, fmedian3(x, y, z))
  IS(T, max3(x, y, z)) IS(T, min3(x, y, z)) IS(T, median3(x, y, z)) IS(T, clamp(x, y, z))
  IS(T, mix(x, y, z)) IS(T, smoothstep(x, y, z)) IS(T, step(x, y))
}

template <typename T, typename I> void through_references(T x, I k) {
  T cosine, whole;
  I exponent;
  IS(T, sincos(x, cosine)) IS(T, modf(x, whole)) IS(T, frexp(x, exponent)) IS(T, ldexp(x, k)) IS(I, ilogb(x))
}

template <typename T, typename I> void all_of(T x, T y, T z, I k) {
  one_argument(x);
  more_arguments(x, y, z);
  through_references(x, k);
}

#define NAMESPACE(N) \
  template <typename T, typename I> void in_##N(T x, T y, T z, I k) { \
    T cosine, whole; \
    I exponent; \
    IS(T, N::acos(x)) IS(T, N::acosh(x)) IS(T, N::asin(x)) IS(T, N::asinh(x)) IS(T, N::atan(x)) IS(T, N::atanh(x)) \
    IS(T, N::ceil(x)) IS(T, N::cos(x)) IS(T, N::cosh(x)) IS(T, N::cospi(x)) IS(T, N::exp(x)) IS(T, N::exp2(x)) \
    IS(T, N::exp10(x)) IS(T, N::fabs(x)) IS(T, N::abs(x)) IS(T, N::floor(x)) IS(T, N::fract(x)) IS(T, N::log(x)) \
    IS(T, N::log2(x)) IS(T, N::log10(x)) IS(T, N::rint(x)) IS(T, N::round(x)) IS(T, N::rsqrt(x)) IS(T, N::sin(x)) \
    IS(T, N::sinh(x)) IS(T, N::sinpi(x)) IS(T, N::sqrt(x)) IS(T, N::tan(x)) IS(T, N::tanh(x)) IS(T, N::tanpi(x)) \
    IS(T, N::trunc(x)) IS(T, N::saturate(x)) IS(T, N::clamp(x, y, z)) \
    IS(T, N::atan2(x, y)) IS(T, N::copysign(x, y)) IS(T, N::divide(x, y)) IS(T, N::fdim(x, y)) IS(T, N::fmax(x, y)) \
    IS(T, N::fmin(x, y)) IS(T, N::fmod(x, y)) IS(T, N::nextafter(x, y)) IS(T, N::pow(x, y)) IS(T, N::powr(x, y)) \
    IS(T, N::max(x, y)) IS(T, N::min(x, y)) IS(T, N::fma(x, y, z)) IS(T, N::fmax3(x, y, z)) IS(T, N::fmin3(x, y, z)) \
    IS(T, N::fmedian3(x, y, z)) IS(T, N::max3(x, y, z)) IS(T, N::min3(x, y, z)) IS(T, N::median3(x, y, z)) \
    IS(T, N::sincos(x, cosine)) IS(T, N::modf(x, whole)) IS(T, N::frexp(x, exponent)) IS(T, N::ldexp(x, k)) \
  }
NAMESPACE(fast)
NAMESPACE(precise)

kernel void every_type(device float4* f [[buffer(0)]], device half4* h [[buffer(1)]], device int4* i [[buffer(2)]]) {
  float4 x = f[0], y = f[1], z = f[2];
  half4 a = h[0], b = h[1], c = h[2];
  int4 k = i[0];
  all_of(x, y, z, k);
  all_of(x.xyz, y.xyz, z.xyz, k.xyz);
  all_of(x.xy, y.xy, z.xy, k.xy);
  all_of(x.x, y.x, z.x, k.x);
  all_of(a, b, c, k);
  all_of(a.xyz, b.xyz, c.xyz, k.xyz);
  all_of(a.xy, b.xy, c.xy, k.xy);
  all_of(a.x, b.x, c.x, k.x);
}

kernel void fast_and_precise(device float4* f [[buffer(0)]], device int4* i [[buffer(1)]]) {
  float4 x = f[0], y = f[1], z = f[2];
  int4 k = i[0];
  in_fast(x, y, z, k);
  in_fast(x.xyz, y.xyz, z.xyz, k.xyz);
  in_fast(x.xy, y.xy, z.xy, k.xy);
  in_fast(x.x, y.x, z.x, k.x);
  in_precise(x, y, z, k);
  in_precise(x.xyz, y.xyz, z.xyz, k.xyz);
  in_precise(x.xy, y.xy, z.xy, k.xy);
  in_precise(x.x, y.x, z.x, k.x);
}

kernel void mixed_arguments(device float4* f [[buffer(0)]], device half4* h [[buffer(1)]], device bfloat* b [[buffer(2)]]) {
  float4 x = f[0];
  half4 a = h[0];
  IS(float4, clamp(x, 0.0, 1.0)) IS(float4, max(x, 0.0f)) IS(float4, min(1.0f, x)) IS(float4, pow(x, 2.0f))
  IS(float4, mix(x, x, 0.5)) IS(float3, step(0.5, x.xyz)) IS(float2, smoothstep(0.0, 1.0, x.xy)) IS(float4, fma(x, 2.0, 1.0))
  IS(half4, clamp(a, 0.0h, 1.0h)) IS(half4, max(a, 0.0h)) IS(half2, fmod(a.xy, 2.0h)) IS(half3, mix(a.xyz, 1.0h, 0.5h))
  IS(float4, fast::clamp(x, 0.0, 1.0)) IS(float4, precise::max(x, 0.0))
  // Components of vectors in other spaces, through references and pointers.
  IS(float, exp(f[1].x)) IS(float, metal::max(f[0].x, f[0][1])) IS(float, metal::precise::sqrt(f[2].y))
  // Half converts to float where only float is there, bfloat everywhere.
  IS(float, fast::exp(a.x)) IS(float, precise::tanh(a.x)) IS(float, exp(b[0])) IS(float, max(b[0], b[1])) IS(float, abs(b[0]))
  IS(float, fast::max(b[0], b[1])) IS(float, fma(b[0], b[1], b[2])) IS(float, metal::max(x.x, 0.5))
}
