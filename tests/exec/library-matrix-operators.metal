// <metal_matrix>: a matrix is its columns.
//! covers: MSL 3.2, MSL 6.6
//! kernel: matrices
//! arg 0: u32 0*29
//! expect 0: u32 1*28 0
//! arg 1: f32 1..17
#include <metal_stdlib>
using namespace metal;
#define CHECK(C) out[n++] = (C) ? 1 : 0;

kernel void matrices(device uint* out [[buffer(0)]], device const float4* f [[buffer(1)]]) {
  uint n = 0;
  float2x2 a = float2x2(f[0].xy, f[0].zw), b = float2x2(f[1].xy, f[1].zw);
  float4x4 m = float4x4(f[0], f[1], f[2], f[3]), one = float4x4(1.0f);
  float2x3 wide = float2x3(f[0].xyz, f[1].xyz);
  CHECK(all(a[0] == float2(1, 2)) && a[1][0] == 3) CHECK(all((a * f[1].xy) == float2(23, 34))) CHECK(all((f[1].xy * a) == float2(17, 39)))
  CHECK((a * b) == float2x2(float2(23, 34), float2(31, 46))) CHECK((a + b) == float2x2(float2(6, 8), float2(10, 12))) CHECK((b - a) == float2x2(float2(4), float2(4)))
  CHECK((a * 2) == float2x2(float2(2, 4), float2(6, 8))) CHECK((2.0f * a) == (a + a)) CHECK((a / 2) == float2x2(float2(0.5, 1), float2(1.5, 2))) CHECK(-a == a * -1)
  CHECK(a != b) CHECK((m * one) == m) CHECK((one * m) == m) CHECK(transpose(transpose(m)) == m) CHECK(transpose(m)[0][3] == 13) CHECK(determinant(a) == -2)
  CHECK(determinant(one * 2) == 16) CHECK(determinant(m) == 0) CHECK(determinant(float3x3(float3(2, 0, 1), float3(0, 3, 0), float3(1, 0, 1))) == 3)
  CHECK(all((wide * float2(1, 10)) == float3(51, 62, 73))) CHECK(all((float3(1, 1, 2) * wide) == float2(9, 25))) CHECK(transpose(wide) == float3x2(float2(1, 5), float2(2, 6), float2(3, 7)))
  CHECK((transpose(wide) * wide) == float2x2(float2(14, 38), float2(38, 110)))
  a *= b;
  CHECK(a == float2x2(float2(23, 34), float2(31, 46)))
  a += b;
  a -= b;
  a *= 2;
  a /= 2.0f;
  CHECK(a[1][1] == 46)
  a[1] = float2(7, 8);
  a[0].y = 5;
  a[1][0] += 1;
  CHECK(a == float2x2(float2(23, 5), float2(8, 8))) CHECK(all((half2x2(half2(1, 2), half2(3, 4)) * half2(5, 6)) == half2(23, 34)))
  CHECK(determinant(float4x4(float4(0, 1, 0, 0), float4(1, 0, 0, 0), float4(0, 0, 2, 0), float4(0, 0, 0, 3))) == -6)
}
