// The functions of <metal_math>, <metal_common> and <metal_relational> whose results are exact.
//! covers: MSL 6.2, MSL 6.4, MSL 6.5
//! math: safe
//! kernel: floats
//! arg 0: u32 0*90
//! expect 0: u32 1*89 0
//! arg 1: f32 0 -0.0 1.5 -2.75 inf -inf nan 3 0x00000001
//! kernel: halves
//! arg 0: u32 0*19
//! expect 0: u32 1*18 0
//! arg 1: f16 0 -0.0 1.5 -2.75 inf -inf nan 3
#include <metal_stdlib>
using namespace metal;
#define CHECK(C) out[n++] = (C) ? 1 : 0;

kernel void floats(device uint* out [[buffer(0)]], device const float* f [[buffer(1)]]) {
  uint n = 0;
  float zero = f[0], minus_zero = f[1], x = f[2], y = f[3], inf = f[4], minus_inf = f[5], nan = f[6], three = f[7], tiny = f[8];
  CHECK(fract(x) == 0.5f) CHECK(fract(y) == 0.25f) CHECK(fract(-1e-10f * three) < 1.0f) CHECK(sign(y) == -1) CHECK(sign(x) == 1) CHECK(sign(nan) == 0)
  CHECK(sign(zero) == 0) CHECK(signbit(sign(minus_zero))) CHECK(!signbit(sign(zero))) CHECK(step(x, y) == 0) CHECK(step(y, x) == 1) CHECK(step(x, x) == 1)
  CHECK(smoothstep(0, 3, x) == 0.5f) CHECK(smoothstep(0, 1, y) == 0) CHECK(smoothstep(0, 1, three) == 1) CHECK(mix(x, three, 0.5f) == 2.25f)
  CHECK(clamp(y, 0.0f, 1.0f) == 0) CHECK(clamp(three, 0.0f, 1.0f) == 1) CHECK(saturate(x) == 1) CHECK(saturate(nan) == 0) CHECK(saturate(y) == 0)
  CHECK(fdim(x, y) == 4.25f) CHECK(fdim(y, x) == 0) CHECK(isnan(fdim(nan, x))) CHECK(fmin(nan, x) == x) CHECK(fmax(x, nan) == x) CHECK(isnan(fmax(nan, nan)))
  CHECK(min3(x, y, three) == y) CHECK(max3(x, y, three) == three) CHECK(median3(x, y, three) == x) CHECK(fmedian3(nan, y, nan) == y)
  CHECK(fmedian3(nan, nan, x) == x) CHECK(fmedian3(x, nan, nan) == x) CHECK(isnan(fmedian3(nan, nan, nan))) CHECK(!isnan(fmedian3(x, nan, y)))
  float whole;
  CHECK(modf(y, whole) == -0.75f && whole == -2) CHECK(modf(inf, whole) == 0 && whole == inf) CHECK(signbit(modf(minus_inf, whole)) && whole == minus_inf)
  CHECK(modf(three, whole) == 0 && whole == 3)
  int e;
  CHECK(frexp(y, e) == -0.6875f && e == 2) CHECK(frexp(zero, e) == 0 && e == 0) CHECK(ldexp(x, 3) == 12) CHECK(ilogb(three) == 1) CHECK(ldexp(x, -1) == 0.75f)
  float c;
  CHECK(sincos(zero, c) == 0 && c == 1) CHECK(copysign(x, y) == -1.5f) CHECK(fma(x, y, three) == -1.125f) CHECK(abs(y) == 2.75f) CHECK(fabs(minus_inf) == inf)
  CHECK(floor(y) == -3) CHECK(ceil(y) == -2) CHECK(trunc(y) == -2) CHECK(rint(x) == 2) CHECK(round(-2.5f * zero + 2.5f) == 3) CHECK(rint(2.5f + zero) == 2)
  CHECK(fmod(y, x) == -1.25f) CHECK(sqrt(three * three) == 3) CHECK(nextafter(zero, x) == tiny) CHECK(divide(three, x) == 2) CHECK(powr(three, 2.0f) == 9)
  CHECK(isinf(inf) && isinf(minus_inf) && !isinf(x)) CHECK(isnan(nan) && !isnan(inf)) CHECK(isfinite(x) && !isfinite(nan)) CHECK(isnormal(x) && !isnormal(zero) && !isnormal(tiny))
  CHECK(isordered(x, y) && !isordered(x, nan)) CHECK(isunordered(nan, x) && !isunordered(x, y)) CHECK(signbit(minus_zero) && !signbit(zero))
  CHECK(select(x, y, true) == y) CHECK(all(select(float2(x), float2(y), bool2(false, true)) == float2(x, y)))
  CHECK(any(bool3(false, false, x > y)) && !any(bool2(x < y)) && all(bool4(x > y)) && !all(bool2(true, x < y)))
  CHECK(fast::max(x, y) == x) CHECK(precise::clamp(three, x, 2.0f) == 2) CHECK(precise::sqrt(three * three) == 3) CHECK(fast::fma(x, y, three) == -1.125f)
  CHECK(all(clamp(float4(y, x, three, zero), 0.0f, 2.0f) == float4(0, 1.5, 2, 0))) CHECK(all(sign(float3(y, zero, x)) == float3(-1, 0, 1)))
  int2 e2;
  CHECK(all(frexp(float2(y, 8.0f), e2) == float2(-0.6875f, 0.5f)) && all(e2 == int2(2, 4))) CHECK(all(isnan(float4(nan, x, inf, nan)) == bool4(true, false, false, true)))
  CHECK(length(float2(3, 4) * divide(x, x)) == 5) CHECK(dot(float3(x, y, three), float3(2, 4, 1)) == -5) CHECK(all(cross(float3(1, 0, 0), float3(0, x, 0)) == float3(0, 0, 1.5f)))
  CHECK(distance(float2(x, 1), float2(x, 4)) == 3) CHECK(length_squared(float4(x, x, 0, 0)) == 4.5f) CHECK(all(normalize(float2(0, three * three)) == float2(0, 1)))
  CHECK(all(reflect(float2(x, -1), float2(0, 1)) == float2(1.5f, 1))) CHECK(all(faceforward(float2(1, x), float2(0, -1), float2(0, 1)) == float2(1, 1.5f)))
  CHECK(all(faceforward(float2(1, x), float2(0, 1), float2(0, 1)) == float2(-1, -1.5f))) CHECK(all(refract(float2(0, -1), float2(0, 1), zero + 1.0f) == float2(0, -1)))
  CHECK(all(refract(float2(1, 0), float2(0, 1), three) == float2(0)))
}

kernel void halves(device uint* out [[buffer(0)]], device const half* h [[buffer(1)]]) {
  uint n = 0;
  half zero = h[0], minus_zero = h[1], x = h[2], y = h[3], inf = h[4], minus_inf = h[5], nan = h[6], three = h[7];
  half whole;
  int e;
  CHECK(fract(y) == 0.25h) CHECK(sign(y) == -1) CHECK(signbit(sign(minus_zero))) CHECK(modf(y, whole) == -0.75h && whole == -2) CHECK(frexp(y, e) == -0.6875h && e == 2)
  CHECK(ldexp(x, 3) == 12) CHECK(ilogb(three) == 1) CHECK(saturate(nan) == 0) CHECK(clamp(three, 0.0h, 2.0h) == 2) CHECK(max(x, y) == x) CHECK(min(inf, minus_inf) == minus_inf)
  CHECK(isnan(nan) && isinf(inf) && isfinite(zero)) CHECK(fma(x, y, three) == -1.125h) CHECK(dot(half2(x, y), half2(2, 4)) == -8) CHECK(length(half2(3, 4) * divide(x, x)) == 5)
  CHECK(select(x, y, false) == x) CHECK(step(x, y) == 0) CHECK(mix(x, three, 0.5h) == 2.25h)
}
