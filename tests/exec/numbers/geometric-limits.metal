// Geometric functions as their formulas have it: lengths are square roots of sums of squares, which overflow and
// vanish; the normal of a reflection is used as it is.
//! kernel: geometry
//! arg 0: f32 0 1 3 4e19 1e-30 2
//! arg 1: f32 0*14
//! expect 1: f32 nan nan inf 0 inf 5 -7 -1 7 5 0 0 1 -2
#include <metal_stdlib>
using namespace metal;

kernel void geometry(device const float* f, device float* out) {
  float zero = f[0], one = f[1], three = f[2], large = f[3], small = f[4], two = f[5];
  out[0] = normalize(float3(zero)).x;
  out[1] = precise::normalize(float2(zero)).y;
  out[2] = length(float2(large, one));
  out[3] = distance(float2(small, one), float2(zero, one));
  out[4] = normalize(float2(small, zero)).x;
  out[5] = length(float2(three, three + one));
  float2 reflected = reflect(float2(one, -one), float2(zero, two));
  out[6] = reflect(float3(one, zero, zero), float3(two, zero, zero)).x;
  out[7] = reflect(float2(one), float2(one, zero)).x;
  out[8] = reflected.y;
  out[9] = reflect(float2(three + two, -one), float2(zero)).x;
  float2 none = refract(float2(one, zero), float2(zero, one), two);
  out[10] = none.x;
  out[11] = none.y;
  out[12] = faceforward(float2(one), float2(-one), float2(one)).x;
  out[13] = faceforward(float2(two), float2(zero), float2(one)).x;
}
