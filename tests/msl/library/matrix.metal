// <metal_matrix>: operators on matrices of all shapes, transpose, determinant.
#include <metal_stdlib>
using namespace metal;

#define IS(T, E) { static_assert(is_same_v<decltype(E), T>, #E); T r = E; (void)r; }

template <typename T, int C, int R> void shape(matrix<T, C, R> m, vec<T, C> right, vec<T, R> left, T s) {
  typedef matrix<T, C, R> M;
  typedef matrix<T, R, C> Transposed;
  typedef matrix<T, R, R> Square;
  IS(M, m + m) IS(M, m - m) IS(M, -m) IS(M, +m) IS(M, m * s) IS(M, s * m) IS(M, m / s) IS(M, m * 2)
  IS(bool, m == m) IS(bool, m != m)
  typedef vec<T, C> Row;
  typedef vec<T, R> Column;
  IS(Column, m * right) IS(Row, left * m) IS(Transposed, transpose(m)) IS(Square, m * transpose(m))
  m += m;
  m -= m;
  m *= s;
  m /= s;
  m *= transpose(m) * m;
  m[0] = left;
  m[1][0] = s;
}

kernel void shapes(device float4* f [[buffer(0)]], device half4* h [[buffer(1)]], device float4x4* out [[buffer(2)]]) {
  float4 x = f[0];
  half4 a = h[0];
  shape(float2x2(x.xy, x.zw), x.xy, x.xy, x.x);
  shape(float2x3(x.xyz, x.yzw), x.xy, x.xyz, x.x);
  shape(float2x4(x, x), x.xy, x, x.x);
  shape(float3x2(x.xy, x.zw, x.xy), x.xyz, x.xy, x.x);
  shape(float3x3(x.xyz, x.yzw, x.xyz), x.xyz, x.xyz, x.x);
  shape(float3x4(x, x, x), x.xyz, x, x.x);
  shape(float4x2(x.xy, x.zw, x.xy, x.zw), x, x.xy, x.x);
  shape(float4x3(x.xyz, x.yzw, x.xyz, x.yzw), x, x.xyz, x.x);
  shape(float4x4(x, x, x, x), x, x, x.x);
  shape(half2x2(a.xy, a.zw), a.xy, a.xy, a.x);
  shape(half3x3(a.xyz, a.yzw, a.xyz), a.xyz, a.xyz, a.x);
  shape(half4x4(a, a, a, a), a, a, a.x);
  IS(float, determinant(float2x2(x.xy, x.zw))) IS(float, determinant(float3x3(x.xyz, x.yzw, x.xyz)))
  IS(float, determinant(float4x4(x, x, x, x))) IS(half, determinant(half2x2(a.xy, a.zw)))
  IS(half, determinant(half3x3(a.xyz, a.yzw, a.xyz))) IS(half, determinant(half4x4(a, a, a, a)))
  out[0] *= out[1];
  out[0] += 2.0f * out[1];
  out[1] = float4x4(1.0f);
  out[2] = (float4x4)half4x4(a, a, a, a);
}
