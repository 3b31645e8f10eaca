// Names beneath Apple's headers that programs use, and overloads added to namespace metal with them.
#include <metal_stdlib>

namespace metal {
METAL_FUNC bfloat exp(bfloat x) { return static_cast<bfloat>(__metal_exp(static_cast<float>(x), __METAL_MAYBE_FAST_MATH__)); }
METAL_FUNC bfloat fma(bfloat x, bfloat y, bfloat z) { return static_cast<bfloat>(__metal_fma(float(x), float(y), float(z))); }
METAL_FUNC bfloat max3(bfloat x, bfloat y, bfloat z) { return static_cast<bfloat>(__metal_fmax3(float(x), float(y), float(z), __METAL_MAYBE_FAST_MATH__)); }
METAL_FUNC bfloat frexp(bfloat x, thread int& e) { return static_cast<bfloat>(__metal_frexp(float(x), &e)); }
METAL_FUNC bfloat ldexp(bfloat x, int k) { return static_cast<bfloat>(__metal_ldexp(float(x), k, __METAL_MAYBE_FAST_MATH__)); }
namespace precise {
METAL_FUNC bfloat tanh(bfloat x) { return static_cast<bfloat>(__metal_tanh(static_cast<float>(x), __METAL_PRECISE_MATH__)); }
}
namespace fast {
METAL_FUNC bfloat pow(bfloat x, bfloat y) { return static_cast<bfloat>(__metal_pow(float(x), float(y), __METAL_FAST_MATH__)); }
}
METAL_FUNC bfloat simd_shuffle_and_fill_up(bfloat x, bfloat fill, ushort delta) {
  return as_type<bfloat>(__metal_simd_shuffle_and_fill_up(as_type<ushort>(x), as_type<ushort>(fill), delta, __metal_get_simdgroup_size(ushort())));
}
METAL_FUNC bfloat simd_max(bfloat x) { return static_cast<bfloat>(__metal_simd_max(static_cast<float>(x))); }
}
using namespace metal;

#define IS(T, E) { static_assert(is_same_v<decltype(E), T>, #E); T r = E; (void)r; }
static_assert(__builtin_ctz(8u) == 3 && __builtin_popcount(7u) == 3 && __builtin_clz(1u) == 31, "constant");

kernel void uses(device bfloat* p [[buffer(0)]], device float* f [[buffer(1)]]) {
  bfloat x = p[0];
  int e;
  IS(bfloat, exp(x)) IS(bfloat, fma(x, x, x)) IS(bfloat, max3(x, x, x)) IS(bfloat, frexp(x, e)) IS(bfloat, ldexp(x, 2))
  IS(bfloat, precise::tanh(x)) IS(bfloat, fast::pow(x, x)) IS(bfloat, simd_shuffle_and_fill_up(x, x, 1)) IS(bfloat, simd_max(x))
  IS(float, exp(f[0])) IS(ushort, __metal_get_thread_index_in_simdgroup(ushort()))
  IS(float, __metal_sin(f[0], 1)) IS(float, __metal_nextafter(f[0], f[1])) IS(float, __metal_fmod(f[0], f[1], 0))
  IS(uint, __metal_simd_sum(3u)) IS(float, __metal_simd_broadcast(f[0], 3)) IS(float, __metal_simd_shuffle_rotate_up(f[0], 3))
}
