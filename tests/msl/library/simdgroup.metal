// <metal_simdgroup> and <metal_quadgroup> for all types that take part.
#include <metal_stdlib>
using namespace metal;

#define IS(T, E) { static_assert(is_same_v<decltype(E), T>, #E); T r = E; (void)r; }

template <typename T> void numbers(T x, ushort lane) {
  IS(T, simd_sum(x)) IS(T, simd_product(x)) IS(T, simd_min(x)) IS(T, simd_max(x)) IS(T, simd_broadcast_first(x))
  IS(T, simd_prefix_inclusive_sum(x)) IS(T, simd_prefix_exclusive_sum(x)) IS(T, simd_prefix_inclusive_product(x))
  IS(T, simd_prefix_exclusive_product(x)) IS(T, simd_broadcast(x, 3)) IS(T, simd_shuffle(x, lane)) IS(T, simd_shuffle_xor(x, 1))
  IS(T, simd_shuffle_up(x, 1)) IS(T, simd_shuffle_down(x, 16u)) IS(T, simd_shuffle_rotate_up(x, 1)) IS(T, simd_shuffle_rotate_down(x, 1))
  IS(T, simd_shuffle_and_fill_up(x, x, 1)) IS(T, simd_shuffle_and_fill_down(x, x, 1)) IS(T, simd_shuffle_and_fill_up(x, x, 1, 8))
  IS(T, simd_shuffle_and_fill_down(x, x, 1, 8))
}
template <typename T> void integers(T x) { IS(T, simd_and(x)) IS(T, simd_or(x)) IS(T, simd_xor(x)) }
template <typename T> void quads(T x, ushort lane) {
  IS(T, quad_sum(x)) IS(T, quad_product(x)) IS(T, quad_min(x)) IS(T, quad_max(x)) IS(T, quad_broadcast(x, 3)) IS(T, quad_broadcast_first(x))
  IS(T, quad_shuffle(x, lane)) IS(T, quad_shuffle_xor(x, 1)) IS(T, quad_shuffle_up(x, 1)) IS(T, quad_shuffle_down(x, 1))
  IS(T, quad_shuffle_rotate_up(x, 1)) IS(T, quad_shuffle_rotate_down(x, 1)) IS(T, quad_shuffle_and_fill_up(x, x, 1))
  IS(T, quad_shuffle_and_fill_down(x, x, 1)) IS(T, quad_shuffle_and_fill_up(x, x, 1, 2)) IS(T, quad_shuffle_and_fill_down(x, x, 1, 2))
  IS(T, quad_prefix_inclusive_sum(x)) IS(T, quad_prefix_exclusive_sum(x)) IS(T, quad_prefix_inclusive_product(x)) IS(T, quad_prefix_exclusive_product(x))
}
template <typename T> void quad_integers(T x) { IS(T, quad_and(x)) IS(T, quad_or(x)) IS(T, quad_xor(x)) }

#define FLOATS(S) \
  kernel void shared_##S(device S##4* p [[buffer(0)]], ushort lane [[thread_index_in_simdgroup]]) { \
    numbers(p[0], lane); \
    numbers(p[0].xyz, lane); \
    numbers(p[0].xy, lane); \
    numbers(p[0].x, lane); \
    quads(p[0], lane & 3); \
    quads(p[0].x, lane & 3); \
  }
#define INTEGERS(S) \
  FLOATS(S) \
  kernel void shared_bits_##S(device S##4* p [[buffer(0)]]) { \
    integers(p[0]); \
    integers(p[0].xyz); \
    integers(p[0].xy); \
    integers(p[0].x); \
    quad_integers(p[0]); \
    quad_integers(p[0].x); \
  }
FLOATS(float)
FLOATS(half)
FLOATS(bfloat)
INTEGERS(char)
INTEGERS(uchar)
INTEGERS(short)
INTEGERS(ushort)
INTEGERS(int)
INTEGERS(uint)

kernel void wide_quads(device long* p [[buffer(0)]], ushort lane [[thread_index_in_quadgroup]]) {
  quads(p[0], lane);
  quad_integers(p[0]);
}

kernel void votes(device ulong* p [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  simd_vote vote = simd_ballot(i > 3);
  p[0] = (uint64_t)vote;
  p[1] = simd_vote::vote_t(vote) + static_cast<simd_vote::vote_t>(simd_active_threads_mask());
  p[2] = vote.all() ? 1 : vote.any() ? 2 : 3;
  p[3] = simd_all(i > 1) && simd_any(i == 3) && simd_is_first() && !simd_is_helper_thread();
  quad_vote quad = quad_ballot(i & 1);
  p[4] = (uint)quad + quad_vote::vote_t(quad_active_threads_mask());
  p[5] = quad.all() ? 1 : quad.any() ? 2 : 3;
  p[6] = quad_all(i > 1) && quad_any(i == 3) && quad_is_first();
  p[7] = as_type<uint2>((simd_vote::vote_t)simd_ballot(true)).x;
}

// Programs add functions for types that the library leaves out.
namespace metal {
bfloat simd_sum(bfloat x) { return bfloat(simd_sum(float(x))); }
int64_t simd_shuffle_down(int64_t x, ushort delta) { return as_type<int64_t>(simd_shuffle_down(as_type<uint2>(x), delta)); }
}
kernel void own_overloads(device bfloat* p [[buffer(0)]], device int64_t* q [[buffer(1)]]) {
  p[0] = simd_sum(p[1]);
  q[0] = simd_shuffle_down(q[1], 2);
}
