// <metal_relational>.
#include <metal_stdlib>
using namespace metal;

#define IS(T, E) { static_assert(is_same_v<decltype(E), T>, #E); T r = E; (void)r; }

template <typename T, typename B> void classes(T x, T y) {
  IS(B, isfinite(x)) IS(B, isinf(x)) IS(B, isnan(x)) IS(B, isnormal(x)) IS(B, isordered(x, y)) IS(B, isunordered(x, y))
  IS(B, signbit(x))
}
template <typename T, typename B> void choices(T x, T y, B c) {
  IS(T, select(x, y, c)) IS(bool, any(c)) IS(bool, all(c)) IS(B, not(c))
}

#define FLOATS(S) \
  kernel void classes_of_##S(device S##4* p [[buffer(0)]]) { \
    S##4 x = p[0], y = p[1]; \
    classes<S##4, bool4>(x, y); \
    classes<S##3, bool3>(x.xyz, y.xyz); \
    classes<S##2, bool2>(x.xy, y.xy); \
    classes<S, bool>(x.x, y.x); \
  }
FLOATS(float)
FLOATS(half)
FLOATS(bfloat)

#define ALL(S) \
  kernel void choices_of_##S(device S##4* p [[buffer(0)]], device bool4* q [[buffer(1)]]) { \
    S##4 x = p[0], y = p[1]; \
    bool4 c = q[0]; \
    choices(x, y, c); \
    choices(x.xyz, y.xyz, c.xyz); \
    choices(x.xy, y.xy, c.xy); \
    choices(x.x, y.x, c.x); \
    IS(S##4, select(x, S(0), c)) \
  }
ALL(bool)
ALL(char)
ALL(uchar)
ALL(short)
ALL(ushort)
ALL(int)
ALL(uint)
ALL(long)
ALL(ulong)
ALL(half)
ALL(bfloat)
ALL(float)

kernel void comparisons(device float4* p [[buffer(0)]]) {
  IS(float4, select(p[0], p[1], p[0] < p[1])) IS(float, select(0.0f, 1.0f, p[0].x > 0)) IS(bool, all(p[0] == p[1]))
  IS(bool, any(isnan(p[0]) || isinf(p[0])))
}
