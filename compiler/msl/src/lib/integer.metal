// <metal_integer>. Scalars narrower than int compute in int, so results are converted back to T before
// anything that would see the difference.

namespace metal {

// N is the number of bits of an element, U the unsigned counterpart of T.
template <typename U, typename T> T __lib_rotate(T x, T n, uint N) {
  U v = U(x);
  U s = U(n) & U(N - 1);
  return T(U(v << s) | U(v >> (U(U(0) - s) & U(N - 1))));
}
template <typename T> T __lib_extract_bits(T x, uint offset, uint bits, uint N) {
  uint above = (N - bits - offset) & (N - 1);
  return bits == 0 ? T(0) : T(T(x << T(above)) >> T((N - bits) & (N - 1)));
}
template <typename U, typename T> T __lib_insert_bits(T base, T insert, uint offset, uint bits, uint N) {
  if (bits == 0) return base;
  U mask = U(U(U(~U(0)) >> U((N - bits) & (N - 1))) << U(offset & (N - 1)));
  return T((U(base) & U(~mask)) | (U(U(insert) << U(offset & (N - 1))) & mask));
}
// With 64 bits, from both halves of the product.
template <typename U, typename T> T __lib_madsat_long(T x, T y, T z) {
  U low = U(x) * U(y);
  U sum = low + U(z);
  T high = __am_mulhi(x, y) + (z >> T(63)) + __am_select(T(0), T(1), sum < low);
  return __am_select(T(sum), __am_select(T(LONG_MAX), T(LONG_MIN), high < T(0)), high != (T(sum) >> T(63)));
}
template <typename T> T __lib_madsat_ulong(T x, T y, T z) {
  T low = x * y;
  T sum = low + z;
  return __am_select(sum, T(ULONG_MAX), (__am_mulhi(x, y) != T(0)) | (sum < low));
}

// T is the type, U its unsigned counterpart, N the number of bits of an element.
#define __AM_INTEGER(T, U, N) \
  T abs(T x) { return __am_abs(x); } \
  U absdiff(T x, T y) { return U(U(__am_max(x, y)) - U(__am_min(x, y))); } \
  T addsat(T x, T y) { return __am_addsat(x, y); } \
  T subsat(T x, T y) { return __am_subsat(x, y); } \
  T mulhi(T x, T y) { return __am_mulhi(x, y); } \
  T madhi(T x, T y, T z) { return T(__am_mulhi(x, y) + z); } \
  T hadd(T x, T y) { return T((x & y) + ((x ^ y) >> T(1))); } \
  T rhadd(T x, T y) { return T((x | y) - ((x ^ y) >> T(1))); } \
  T min(T x, T y) { return __am_min(x, y); } \
  T max(T x, T y) { return __am_max(x, y); } \
  T min3(T x, T y, T z) { return __am_min(x, __am_min(y, z)); } \
  T max3(T x, T y, T z) { return __am_max(x, __am_max(y, z)); } \
  T median3(T x, T y, T z) { return __am_max(__am_min(x, y), __am_min(__am_max(x, y), z)); } \
  T clamp(T x, T low, T high) { return __am_min(__am_max(x, low), high); } \
  T clz(T x) { return __am_clz(x); } \
  T ctz(T x) { return __am_ctz(x); } \
  T popcount(T x) { return __am_popcount(x); } \
  T reverse_bits(T x) { return __am_reverse_bits(x); } \
  T rotate(T x, T n) { return __lib_rotate<U>(x, n, N); } \
  T extract_bits(T x, uint offset, uint bits) { return __lib_extract_bits(x, offset, bits, N); } \
  T insert_bits(T x, T y, uint offset, uint bits) { return __lib_insert_bits<U>(x, y, offset, bits, N); }
// Products of the narrower types are exact in W, 64 bits wide; LOW and HIGH are the limits of T.
#define __AM_MADSAT(T, W, LOW, HIGH) \
  T madsat(T x, T y, T z) { return T(__am_min(__am_max(W(x) * W(y) + W(z), W(LOW)), W(HIGH))); }
#define __AM_MADSAT_LONG(T, U) \
  T madsat(T x, T y, T z) { return __lib_madsat_long<U>(x, y, z); } \
  U madsat(U x, U y, U z) { return __lib_madsat_ulong(x, y, z); }
#define __AM_MUL24(T) \
  T mul24(T x, T y) { return x * y; } \
  T mad24(T x, T y, T z) { return x * y + z; }

#define __AM_INTEGER4(T, U, N) \
  __AM_INTEGER(T, U, N) __AM_INTEGER(T##2, U##2, N) __AM_INTEGER(T##3, U##3, N) __AM_INTEGER(T##4, U##4, N)
#define __AM_MADSAT4(T, W, LOW, HIGH) \
  __AM_MADSAT(T, W, LOW, HIGH) __AM_MADSAT(T##2, W##2, LOW, HIGH) \
  __AM_MADSAT(T##3, W##3, LOW, HIGH) __AM_MADSAT(T##4, W##4, LOW, HIGH)

__AM_INTEGER4(char, uchar, 8)
__AM_INTEGER4(uchar, uchar, 8)
__AM_INTEGER4(short, ushort, 16)
__AM_INTEGER4(ushort, ushort, 16)
__AM_INTEGER4(int, uint, 32)
__AM_INTEGER4(uint, uint, 32)
__AM_INTEGER4(long, ulong, 64)
__AM_INTEGER4(ulong, ulong, 64)

__AM_MADSAT4(char, long, -128, 127)
__AM_MADSAT4(uchar, ulong, 0, 255)
__AM_MADSAT4(short, long, -32768, 32767)
__AM_MADSAT4(ushort, ulong, 0, 65535)
__AM_MADSAT4(int, long, INT_MIN, INT_MAX)
__AM_MADSAT4(uint, ulong, 0, UINT_MAX)
__AM_MADSAT_LONG(long, ulong)
__AM_MADSAT_LONG(long2, ulong2)
__AM_MADSAT_LONG(long3, ulong3)
__AM_MADSAT_LONG(long4, ulong4)

__AM_MUL24(int) __AM_MUL24(int2) __AM_MUL24(int3) __AM_MUL24(int4)
__AM_MUL24(uint) __AM_MUL24(uint2) __AM_MUL24(uint3) __AM_MUL24(uint4)

#undef __AM_INTEGER
#undef __AM_INTEGER4
#undef __AM_MADSAT
#undef __AM_MADSAT4
#undef __AM_MADSAT_LONG
#undef __AM_MUL24

}
