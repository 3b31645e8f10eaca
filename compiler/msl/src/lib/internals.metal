// Names beneath Apple's headers that programs call all the same. `fast` is one of the macros
// __METAL_FAST_MATH__, __METAL_PRECISE_MATH__ and __METAL_MAYBE_FAST_MATH__.

#define __AM_MATH1(F) template <typename T> T __metal_##F(T x, bool fast) { return fast ? __am_fast_##F(x) : __am_precise_##F(x); }
#define __AM_MATH2(F) template <typename T> T __metal_##F(T x, T y, bool fast) { return fast ? __am_fast_##F(x, y) : __am_precise_##F(x, y); }
#define __AM_MATH3(F) template <typename T> T __metal_##F(T x, T y, T z, bool fast) { return fast ? metal::F(x, y, z) : metal::F(x, y, z); }
__AM_MATH1(acos) __AM_MATH1(acosh) __AM_MATH1(asin) __AM_MATH1(asinh) __AM_MATH1(atan) __AM_MATH1(atanh)
__AM_MATH1(ceil) __AM_MATH1(cos) __AM_MATH1(cosh) __AM_MATH1(cospi) __AM_MATH1(exp) __AM_MATH1(exp2)
__AM_MATH1(exp10) __AM_MATH1(fabs) __AM_MATH1(floor) __AM_MATH1(log) __AM_MATH1(log2) __AM_MATH1(log10)
__AM_MATH1(rint) __AM_MATH1(round) __AM_MATH1(rsqrt) __AM_MATH1(sin) __AM_MATH1(sinh) __AM_MATH1(sinpi)
__AM_MATH1(sqrt) __AM_MATH1(tan) __AM_MATH1(tanh) __AM_MATH1(tanpi) __AM_MATH1(trunc)
__AM_MATH2(atan2) __AM_MATH2(copysign) __AM_MATH2(divide) __AM_MATH2(fmax) __AM_MATH2(fmin) __AM_MATH2(fmod)
__AM_MATH2(pow) __AM_MATH2(powr)
__AM_MATH3(fmax3) __AM_MATH3(fmin3) __AM_MATH3(fmedian3)
#undef __AM_MATH1
#undef __AM_MATH2
#undef __AM_MATH3
template <typename T> T __metal_fract(T x, bool fast) { return metal::fract(x); }
template <typename T> T __metal_fma(T x, T y, T z) { return __am_fma(x, y, z); }
template <typename T> T __metal_nextafter(T x, T y) { return __am_nextafter(x, y); }
template <typename T, typename I> T __metal_ldexp(T x, I k, bool fast) { return __am_ldexp(x, k); }
template <typename T, typename I> T __metal_frexp(T x, thread I* exponent) {
  *exponent = __am_frexp_exponent(x);
  return __am_frexp_mantissa(x);
}

#define __AM_REDUCE(NAME) template <typename T> T __metal_##NAME(T data) { return __am_##NAME(data); }
#define __AM_PERMUTE(NAME, BUILTIN) template <typename T> T __metal_##NAME(T data, ushort lane) { return BUILTIN(data, lane); }
#define __AM_FILL(NAME) \
  template <typename T> T __metal_##NAME(T data, T filling, ushort delta, ushort modulo) { \
    return __am_##NAME(data, filling, delta, modulo); \
  }
__AM_REDUCE(simd_sum) __AM_REDUCE(simd_product) __AM_REDUCE(simd_min) __AM_REDUCE(simd_max)
__AM_REDUCE(simd_and) __AM_REDUCE(simd_or) __AM_REDUCE(simd_xor)
// Apple's take floats too, as headers that its compiler accepts show (MLX); what they do then is not documented.
#define __AM_BITWISE(NAME, T, BITS) T __metal_##NAME(T data) { return as_type<T>(__am_##NAME(as_type<BITS>(data))); }
__AM_BITWISE(simd_and, float, uint) __AM_BITWISE(simd_or, float, uint) __AM_BITWISE(simd_xor, float, uint)
__AM_BITWISE(simd_and, half, ushort) __AM_BITWISE(simd_or, half, ushort) __AM_BITWISE(simd_xor, half, ushort)
#undef __AM_BITWISE
__AM_REDUCE(simd_prefix_inclusive_sum) __AM_REDUCE(simd_prefix_exclusive_sum)
__AM_REDUCE(simd_prefix_inclusive_product) __AM_REDUCE(simd_prefix_exclusive_product)
__AM_REDUCE(simd_broadcast_first)
__AM_PERMUTE(simd_broadcast, __am_simd_broadcast) __AM_PERMUTE(simd_shuffle, __am_simd_shuffle)
__AM_PERMUTE(simd_shuffle_xor, __am_simd_shuffle_xor) __AM_PERMUTE(simd_shuffle_up, __am_simd_shuffle_up)
__AM_PERMUTE(simd_shuffle_down, __am_simd_shuffle_down)
__AM_PERMUTE(simd_shuffle_rotate_up, __am_simd_rotate_up) __AM_PERMUTE(simd_shuffle_rotate_down, __am_simd_rotate_down)
__AM_FILL(simd_shuffle_and_fill_up) __AM_FILL(simd_shuffle_and_fill_down)
#undef __AM_REDUCE
#undef __AM_PERMUTE
#undef __AM_FILL

ushort __metal_get_simdgroup_size(ushort) { return 32; }
ushort __metal_get_thread_index_in_simdgroup(ushort) { return ushort(__am_thread_index_in_simdgroup()); }

constexpr int __builtin_clz(uint x) { return int(__am_clz(x)); }
constexpr int __builtin_ctz(uint x) { return int(__am_ctz(x)); }
constexpr int __builtin_popcount(uint x) { return int(__am_popcount(x)); }
constexpr int __builtin_clzl(ulong x) { return int(__am_clz(x)); }
constexpr int __builtin_ctzl(ulong x) { return int(__am_ctz(x)); }
constexpr int __builtin_popcountl(ulong x) { return int(__am_popcount(x)); }
constexpr int __builtin_clzll(ulong x) { return int(__am_clz(x)); }
constexpr int __builtin_ctzll(ulong x) { return int(__am_ctz(x)); }
constexpr int __builtin_popcountll(ulong x) { return int(__am_popcount(x)); }
constexpr int __builtin_parity(uint x) { return int(__am_popcount(x)) & 1; }
constexpr int __builtin_parityll(ulong x) { return int(__am_popcount(x)) & 1; }
constexpr int __builtin_ffs(int x) { return x == 0 ? 0 : int(__am_ctz(uint(x))) + 1; }
constexpr int __builtin_ffsll(long x) { return x == 0 ? 0 : int(__am_ctz(ulong(x))) + 1; }
constexpr ushort __builtin_bswap16(ushort x) { return ushort((x << 8) | (x >> 8)); }
constexpr uint __builtin_bswap32(uint x) {
  return (x << 24) | ((x & 0xff00u) << 8) | ((x >> 8) & 0xff00u) | (x >> 24);
}
constexpr ulong __builtin_bswap64(ulong x) {
  return (ulong(__builtin_bswap32(uint(x))) << 32) | __builtin_bswap32(uint(x >> 32));
}
constexpr uchar __builtin_bitreverse8(uchar x) { return __am_reverse_bits(x); }
constexpr ushort __builtin_bitreverse16(ushort x) { return __am_reverse_bits(x); }
constexpr uint __builtin_bitreverse32(uint x) { return __am_reverse_bits(x); }
constexpr ulong __builtin_bitreverse64(ulong x) { return __am_reverse_bits(x); }
constexpr uint __builtin_rotateleft32(uint x, uint n) { return (x << (n & 31)) | (x >> (-n & 31)); }
constexpr uint __builtin_rotateright32(uint x, uint n) { return (x >> (n & 31)) | (x << (-n & 31)); }
constexpr ulong __builtin_rotateleft64(ulong x, ulong n) { return (x << (n & 63)) | (x >> (-n & 63)); }
constexpr ulong __builtin_rotateright64(ulong x, ulong n) { return (x >> (n & 63)) | (x << (-n & 63)); }
// Control never comes here: there is nothing to do.
constexpr void __builtin_unreachable() {}
template <typename T> constexpr T __builtin_expect(T x, long expected) { return x; }
