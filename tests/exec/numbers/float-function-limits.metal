// The functions that are made of several builtins, and those that are exact, at the ends of their domains.
//! math: safe
//! kernel: floats
//! arg 0: u32 0*38
//! expect 0: u32 1*37 0
//! arg 1: f32 0 -0.0 inf -inf nan 3.4028234663852886e38 1.1754943508222875e-38 0x00000001 8388607.5 0.99999994
//! kernel: halves
//! arg 0: u32 0*16
//! expect 0: u32 1*15 0
//! arg 1: f16 0 -0.0 inf -inf nan 65504 6.103515625e-5 0x0001 1023.5 0.99951171875
#include <metal_stdlib>
using namespace metal;
#define CHECK(C) out[n++] = (C) ? 1 : 0;

kernel void floats(device uint* out [[buffer(0)]], device const float* f [[buffer(1)]]) {
  uint n = 0;
  float zero = f[0], minus_zero = f[1], inf = f[2], minus_inf = f[3], nan = f[4], most = f[5], least = f[6], tiny = f[7], half_way = f[8], below = f[9];
  CHECK(fract(-tiny) == below) CHECK(fract(tiny) == tiny) CHECK(fract(-least) == below) CHECK(fract(most) == 0) CHECK(fract(half_way) == 0.5f) CHECK(isnan(fract(nan)))
  CHECK(isnan(fract(inf)) && isnan(precise::fract(minus_inf))) CHECK(fract(minus_zero) == 0)
  float whole;
  CHECK(modf(half_way, whole) == 0.5f && whole == 8388607) CHECK(isnan(modf(nan, whole)) && isnan(whole)) CHECK(signbit(modf(minus_zero, whole)) && signbit(whole))
  CHECK(modf(-most, whole) == 0 && whole == -most) CHECK(modf(tiny, whole) == tiny && whole == 0)
  int e;
  CHECK(frexp(tiny, e) == 0.5f && e == -148) CHECK(frexp(most, e) == below && e == 128) CHECK(frexp(minus_inf, e) == minus_inf) CHECK(signbit(frexp(minus_zero, e)) && e == 0)
  CHECK(ldexp(tiny, 149) == 1) CHECK(ldexp(most, 1) == inf) CHECK(ldexp(-1.0f, -150) == 0 && signbit(ldexp(-1.0f, -150))) CHECK(ldexp(tiny, INT_MAX) == inf)
  CHECK(ldexp(most, INT_MIN) == 0) CHECK(ilogb(tiny) == -149) CHECK(ilogb(most) == 127)
  CHECK(nextafter(most, inf) == inf) CHECK(nextafter(least, zero) < least) CHECK(nextafter(inf, zero) == most) CHECK(signbit(nextafter(tiny, -tiny)) == false)
  CHECK(signbit(nextafter(zero, minus_zero))) CHECK(isnan(nextafter(nan, zero)))
  CHECK(clamp(nan, 1.0f, 2.0f) == 1) CHECK(saturate(nan) == 0) CHECK(saturate(minus_inf) == 0 && saturate(inf) == 1) CHECK(step(inf, most) == 0 && step(minus_inf, -most) == 1)
  CHECK(smoothstep(zero, most, inf) == 1) CHECK(fma(most, 2.0f, -most) == most) CHECK(fdim(inf, inf) == 0)
}

kernel void halves(device uint* out [[buffer(0)]], device const half* h [[buffer(1)]]) {
  uint n = 0;
  half zero = h[0], minus_zero = h[1], inf = h[2], minus_inf = h[3], nan = h[4], most = h[5], least = h[6], tiny = h[7], half_way = h[8], below = h[9];
  half whole;
  int e;
  CHECK(fract(-tiny) == below) CHECK(isnan(fract(nan)) && isnan(fract(inf))) CHECK(fract(half_way) == 0.5h) CHECK(modf(half_way, whole) == 0.5h && whole == 1023)
  CHECK(modf(minus_inf, whole) == 0 && whole == minus_inf) CHECK(frexp(tiny, e) == 0.5h && e == -23) CHECK(frexp(most, e) == below && e == 16)
  CHECK(ldexp(tiny, 24) == 1) CHECK(ldexp(most, 1) == inf) CHECK(nextafter(most, inf) == inf) CHECK(signbit(nextafter(zero, minus_zero))) CHECK(nextafter(least, zero) < least)
  CHECK(rsqrt(zero) == inf && rsqrt(tiny) == 4096) CHECK(exp2(half(-24)) == tiny && exp2(half(16)) == inf) CHECK(clamp(nan, 1.0h, 2.0h) == 1)
}
