// Every function of <metal_integer> for every type; values that can be known are asserted.
#include <metal_stdlib>
using namespace metal;

#define IS(T, E) { static_assert(is_same_v<decltype(E), T>, #E); T r = E; (void)r; }

template <typename T, typename U> void integers(T x, T y, T z, uint n) {
  IS(T, abs(x)) IS(U, absdiff(x, y)) IS(T, addsat(x, y)) IS(T, subsat(x, y)) IS(T, clamp(x, y, z)) IS(T, clz(x))
  IS(T, ctz(x)) IS(T, popcount(x)) IS(T, reverse_bits(x)) IS(T, extract_bits(x, n, 3)) IS(T, insert_bits(x, y, n, 3))
  IS(T, hadd(x, y)) IS(T, rhadd(x, y)) IS(T, madhi(x, y, z)) IS(T, madsat(x, y, z)) IS(T, mulhi(x, y))
  IS(T, max(x, y)) IS(T, min(x, y)) IS(T, max3(x, y, z)) IS(T, min3(x, y, z)) IS(T, median3(x, y, z)) IS(T, rotate(x, y))
}

#define WIDTHS(S, U) \
  kernel void integers_of_##S(device S##4* p [[buffer(0)]], constant uint& n [[buffer(1)]]) { \
    S##4 x = p[0], y = p[1], z = p[2]; \
    integers<S##4, U##4>(x, y, z, n); \
    integers<S##3, U##3>(x.xyz, y.xyz, z.xyz, n); \
    integers<S##2, U##2>(x.xy, y.xy, z.xy, n); \
    integers<S, U>(x.x, y.x, z.x, n); \
    IS(S##4, max(x, S(1))) IS(S##3, clamp(x.xyz, 0, 7)) IS(S##2, min(S(3), x.xy)) \
  }
WIDTHS(char, uchar)
WIDTHS(uchar, uchar)
WIDTHS(short, ushort)
WIDTHS(ushort, ushort)
WIDTHS(int, uint)
WIDTHS(uint, uint)
WIDTHS(long, ulong)
WIDTHS(ulong, ulong)

kernel void products_of_24_bits(device int4* p [[buffer(0)]], device uint4* q [[buffer(1)]]) {
  IS(int, mul24(p[0].x, p[0].y)) IS(uint, mul24(q[0].x, q[0].y)) IS(int4, mul24(p[0], p[1])) IS(uint3, mul24(q[0].xyz, q[1].xyz))
  IS(int, mad24(p[0].x, p[0].y, 1)) IS(uint2, mad24(q[0].xy, q[1].xy, q[2].xy))
}

kernel void mixed_integers(device uint* p [[buffer(0)]], device short* s [[buffer(1)]], device uchar* c [[buffer(2)]]) {
  IS(uint, min(p[0], 3u)) IS(int, max(int(p[0]), 3)) IS(int, max(int(s[0]), 3)) IS(short, max(s[0], s[1]))
  IS(ulong, max(ulong(p[0]), 3ul)) IS(uint, 32 - clz(p[0] - 1)) IS(int, abs(-1)) IS(uchar, clamp(c[0], uchar(1), uchar(9)))
}
