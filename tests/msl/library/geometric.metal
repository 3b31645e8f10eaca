// <metal_geometric>.
#include <metal_stdlib>
using namespace metal;

#define IS(T, E) { static_assert(is_same_v<decltype(E), T>, #E); T r = E; (void)r; }

template <typename T, typename S> void geometric(T x, T y, T z, S s) {
  IS(S, dot(x, y)) IS(S, length(x)) IS(S, length_squared(x)) IS(S, distance(x, y)) IS(S, distance_squared(x, y))
  IS(T, normalize(x)) IS(T, faceforward(x, y, z)) IS(T, reflect(x, y)) IS(T, refract(x, y, s))
}

kernel void vectors(device float4* f [[buffer(0)]], device half4* h [[buffer(1)]]) {
  float4 x = f[0], y = f[1], z = f[2];
  half4 a = h[0], b = h[1], c = h[2];
  geometric(x, y, z, x.x);
  geometric(x.xyz, y.xyz, z.xyz, x.x);
  geometric(x.xy, y.xy, z.xy, x.x);
  geometric(a, b, c, a.x);
  geometric(a.xyz, b.xyz, c.xyz, a.x);
  geometric(a.xy, b.xy, c.xy, a.x);
  IS(float3, cross(x.xyz, y.xyz)) IS(half3, cross(a.xyz, b.xyz))
  IS(float4, fast::normalize(x)) IS(float, fast::length(x.xyz)) IS(float, fast::distance(x.xy, y.xy))
  IS(float4, precise::normalize(x)) IS(float, precise::length(x.xyz)) IS(float, precise::distance(x.xy, y.xy))
  IS(float, dot(x, 1.0f))
}

// Programs add overloads of their own beside the library's.
static inline float dot(float x, float y) { return x * y; }
kernel void own_overload(device float* p [[buffer(0)]]) { p[0] = dot(p[1], p[2]); }
