// <metal_simdgroup> and <metal_quadgroup>. Templates, as programs add plain functions of the same names
// for types of their own, which must win.

namespace metal {

// The specification leaves out `bool` and 64-bit integers; it is silent on bfloat, which works.
template <typename T> constexpr constant bool __lib_shared_element =
    __is_arithmetic(T) && !__is_same(T, bool) && sizeof(T) <= 4;
template <typename T> constexpr constant bool __lib_shared = __lib_shared_element<typename __lib_element<T>::type>;
template <typename T> constexpr constant bool __lib_shared_integer =
    __lib_shared<T> && __is_integral(typename __lib_element<T>::type);
template <typename T> constexpr constant bool __lib_quad_element =
    __is_arithmetic(T) && !__is_same(T, bool);
template <typename T> constexpr constant bool __lib_quad = __lib_quad_element<typename __lib_element<T>::type>;
template <typename T> constexpr constant bool __lib_quad_integer =
    __lib_quad<T> && __is_integral(typename __lib_element<T>::type);

template <typename T, typename _E = void> struct __is_valid_simdgroup_type
    : bool_constant<__lib_shared<T> && !__is_same(typename __lib_element<T>::type, bfloat)> {};

#define __AM_REDUCE(NAME, CLASS) \
  template <typename T, typename = enable_if_t<__lib_##CLASS<T>>> T NAME(T data) { return __am_##NAME(data); }
#define __AM_PERMUTE(NAME, BUILTIN) \
  template <typename T, typename = enable_if_t<__lib_shared<T>>> T NAME(T data, ushort lane) { return BUILTIN(data, lane); }
#define __AM_FILL(NAME) \
  template <typename T, typename = enable_if_t<__lib_shared<T>>> T NAME(T data, T filling, ushort delta) { \
    return __am_##NAME(data, filling, delta, 32u); \
  } \
  template <typename T, typename = enable_if_t<__lib_shared<T>>> T NAME(T data, T filling, ushort delta, ushort modulo) { \
    return __am_##NAME(data, filling, delta, modulo); \
  }

__AM_REDUCE(simd_sum, shared)
__AM_REDUCE(simd_product, shared)
__AM_REDUCE(simd_min, shared)
__AM_REDUCE(simd_max, shared)
__AM_REDUCE(simd_and, shared_integer)
__AM_REDUCE(simd_or, shared_integer)
__AM_REDUCE(simd_xor, shared_integer)
__AM_REDUCE(simd_prefix_inclusive_sum, shared)
__AM_REDUCE(simd_prefix_exclusive_sum, shared)
__AM_REDUCE(simd_prefix_inclusive_product, shared)
__AM_REDUCE(simd_prefix_exclusive_product, shared)
__AM_REDUCE(simd_broadcast_first, shared)
__AM_PERMUTE(simd_broadcast, __am_simd_broadcast)
__AM_PERMUTE(simd_shuffle, __am_simd_shuffle)
__AM_PERMUTE(simd_shuffle_xor, __am_simd_shuffle_xor)
__AM_PERMUTE(simd_shuffle_up, __am_simd_shuffle_up)
__AM_PERMUTE(simd_shuffle_down, __am_simd_shuffle_down)
__AM_PERMUTE(simd_shuffle_rotate_up, __am_simd_rotate_up)
__AM_PERMUTE(simd_shuffle_rotate_down, __am_simd_rotate_down)
__AM_FILL(simd_shuffle_and_fill_up)
__AM_FILL(simd_shuffle_and_fill_down)

#undef __AM_REDUCE
#undef __AM_PERMUTE
#undef __AM_FILL

// One bit per thread.
struct simd_vote {
  typedef ulong vote_t;
  explicit constexpr simd_vote(vote_t v = 0) : __v(v) {}
  explicit constexpr operator vote_t() const { return __v; }
  constexpr bool all() const { return (__v & 0xfffffffful) == 0xfffffffful; }
  constexpr bool any() const { return (__v & 0xfffffffful) != 0; }
  vote_t __v;
};

simd_vote simd_ballot(bool expr) { return simd_vote(__am_simd_ballot(expr)); }
simd_vote simd_active_threads_mask() { return simd_vote(__am_simd_active_mask()); }
bool simd_all(bool expr) { return __am_simd_all(expr); }
bool simd_any(bool expr) { return __am_simd_any(expr); }
bool simd_is_first() { return __am_simd_is_first(); }
bool simd_is_helper_thread() { return false; }

// Quad-groups: what has no builtin is made of SIMD-group operations on the four lanes.

uint __lib_quad_lane() { return __am_thread_index_in_simdgroup() & 3u; }
uint __lib_quad_base() { return __am_thread_index_in_simdgroup() & ~3u; }
uint __lib_quad_bits(bool expr) { return uint(__am_simd_ballot(expr) >> __lib_quad_base()) & 15u; }
uint __lib_quad_active() { return uint(__am_simd_active_mask() >> __lib_quad_base()) & 15u; }
template <typename T> T __lib_quad_rotate(T data, uint distance) {
  return __am_simd_shuffle(data, __lib_quad_base() | ((__lib_quad_lane() + distance) & 3u));
}

#define __AM_QUAD(NAME, CLASS) \
  template <typename T, typename = enable_if_t<__lib_##CLASS<T>>> T NAME(T data) { return __am_##NAME(data); }
#define __AM_QUAD_PERMUTE(NAME) \
  template <typename T, typename = enable_if_t<__lib_quad<T>>> T NAME(T data, ushort lane) { return __am_##NAME(data, lane); }
#define __AM_QUAD_FILL(WAY) \
  template <typename T, typename = enable_if_t<__lib_quad<T>>> \
  T quad_shuffle_and_fill_##WAY(T data, T filling, ushort delta) { \
    return __am_simd_shuffle_and_fill_##WAY(data, filling, delta, 4u); \
  } \
  template <typename T, typename = enable_if_t<__lib_quad<T>>> \
  T quad_shuffle_and_fill_##WAY(T data, T filling, ushort delta, ushort modulo) { \
    return __am_simd_shuffle_and_fill_##WAY(data, filling, delta, modulo); \
  }

__AM_QUAD(quad_sum, quad)
__AM_QUAD(quad_product, quad)
__AM_QUAD(quad_min, quad)
__AM_QUAD(quad_max, quad)
__AM_QUAD(quad_and, quad_integer)
__AM_QUAD(quad_or, quad_integer)
__AM_QUAD(quad_xor, quad_integer)
__AM_QUAD(quad_prefix_inclusive_sum, quad)
__AM_QUAD(quad_prefix_exclusive_sum, quad)
__AM_QUAD(quad_prefix_inclusive_product, quad)
__AM_QUAD(quad_prefix_exclusive_product, quad)
__AM_QUAD_PERMUTE(quad_broadcast)
__AM_QUAD_PERMUTE(quad_shuffle)
__AM_QUAD_PERMUTE(quad_shuffle_xor)
__AM_QUAD_PERMUTE(quad_shuffle_up)
__AM_QUAD_PERMUTE(quad_shuffle_down)
__AM_QUAD_FILL(up)
__AM_QUAD_FILL(down)
template <typename T, typename = enable_if_t<__lib_quad<T>>> T quad_shuffle_rotate_up(T data, ushort delta) {
  return __lib_quad_rotate(data, 0u - delta);
}
template <typename T, typename = enable_if_t<__lib_quad<T>>> T quad_shuffle_rotate_down(T data, ushort delta) {
  return __lib_quad_rotate(data, delta);
}
template <typename T, typename = enable_if_t<__lib_quad<T>>> T quad_broadcast_first(T data) {
  return __am_quad_shuffle(data, __am_ctz(__lib_quad_active()));
}

#undef __AM_QUAD
#undef __AM_QUAD_PERMUTE
#undef __AM_QUAD_FILL

struct quad_vote {
  typedef uint vote_t;
  explicit constexpr quad_vote(vote_t v = 0) : __v(v & 15u) {}
  explicit constexpr operator vote_t() const { return __v; }
  constexpr bool all() const { return __v == 15u; }
  constexpr bool any() const { return __v != 0; }
  vote_t __v;
};

quad_vote quad_ballot(bool expr) { return quad_vote(__lib_quad_bits(expr)); }
quad_vote quad_active_threads_mask() { return quad_vote(__lib_quad_active()); }
bool quad_all(bool expr) { return __lib_quad_bits(!expr) == 0; }
bool quad_any(bool expr) { return __lib_quad_bits(expr) != 0; }
bool quad_is_first() { return __lib_quad_lane() == __am_ctz(__lib_quad_active()); }
bool quad_is_helper_thread() { return false; }

}
