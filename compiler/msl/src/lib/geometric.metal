// <metal_geometric>.

namespace metal {

#define __AM_DOT(S) \
  S dot(S##2 x, S##2 y) { S##2 p = x * y; return p.x + p.y; } \
  S dot(S##3 x, S##3 y) { S##3 p = x * y; return p.x + p.y + p.z; } \
  S dot(S##4 x, S##4 y) { S##4 p = x * y; return (p.x + p.y) + (p.z + p.w); } \
  S##3 cross(S##3 x, S##3 y) { return x.yzx * y.zxy - x.zxy * y.yzx; }
// What depends on the precision: P is the builtins' prefix.
#define __AM_LENGTH(S, T, P) \
  S length(T x) { return P##sqrt(metal::dot(x, x)); } \
  S distance(T x, T y) { T d = x - y; return P##sqrt(metal::dot(d, d)); } \
  T normalize(T x) { return x * P##rsqrt(metal::dot(x, x)); }
#define __AM_GEOMETRIC(S, T) \
  __AM_LENGTH(S, T, __am_) \
  S length_squared(T x) { return metal::dot(x, x); } \
  S distance_squared(T x, T y) { T d = x - y; return metal::dot(d, d); } \
  T faceforward(T n, T i, T reference) { return metal::dot(reference, i) < S(0) ? n : -n; } \
  T reflect(T i, T n) { return i - S(2) * metal::dot(n, i) * n; } \
  T refract(T i, T n, S eta) { \
    S cosine = metal::dot(n, i); \
    S k = S(1) - eta * eta * (S(1) - cosine * cosine); \
    return k < S(0) ? T(0) : eta * i - (eta * cosine + __am_sqrt(k)) * n; \
  }

__AM_DOT(float)
__AM_DOT(half)
__AM_GEOMETRIC(float, float2)
__AM_GEOMETRIC(float, float3)
__AM_GEOMETRIC(float, float4)
__AM_GEOMETRIC(half, half2)
__AM_GEOMETRIC(half, half3)
__AM_GEOMETRIC(half, half4)

namespace fast {
__AM_LENGTH(float, float2, __am_fast_)
__AM_LENGTH(float, float3, __am_fast_)
__AM_LENGTH(float, float4, __am_fast_)
}
namespace precise {
__AM_LENGTH(float, float2, __am_precise_)
__AM_LENGTH(float, float3, __am_precise_)
__AM_LENGTH(float, float4, __am_precise_)
}

#undef __AM_DOT
#undef __AM_LENGTH
#undef __AM_GEOMETRIC

}
