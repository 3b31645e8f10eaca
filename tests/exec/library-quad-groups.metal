// Quad-group functions, most of which are made of SIMD-group operations, with one thread of a quad off.
//! covers: MSL 6.9.3
//! kernel: quads
//! arg 0: u32 0*38
//! expect 0: u32 1*37 0
//! threads: 32
//! group: 32
#include <metal_stdlib>
using namespace metal;
#define CHECK(C) { bool fine = simd_all(C); if (simd_is_first()) out[n] = fine ? 1 : 0; n++; }

kernel void quads(device uint* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
  uint n = 0;
  uint q = lane & 3, base = lane & ~3u;
  CHECK(quad_sum(lane) == base * 4 + 6) CHECK(quad_product(q + 1) == 24) CHECK(quad_min(lane) == base) CHECK(quad_max(float(lane)) == float(base + 3))
  CHECK(quad_broadcast(lane, 2) == base + 2) CHECK(quad_broadcast_first(lane) == base) CHECK(quad_shuffle(lane, ushort(3 - q)) == base + 3 - q)
  CHECK(quad_shuffle_xor(lane, 2) == (lane ^ 2)) CHECK(quad_shuffle_up(lane, 1) == (q == 0 ? lane : lane - 1)) CHECK(quad_shuffle_down(lane, 1) == (q == 3 ? lane : lane + 1))
  CHECK(quad_shuffle_rotate_up(lane, 1) == base + ((q + 3) & 3)) CHECK(quad_shuffle_rotate_down(lane, 1) == base + ((q + 1) & 3))
  CHECK(quad_shuffle_and_fill_up(lane, lane + 100, 1) == (q == 0 ? base + 103 : lane - 1)) CHECK(quad_shuffle_and_fill_down(lane, lane + 100, 1) == (q == 3 ? base + 100 : lane + 1))
  CHECK(quad_shuffle_and_fill_up(lane, lane + 100, 1, 2) == (q % 2 == 0 ? lane + 101 : lane - 1))
  CHECK(quad_and(lane | 0xf0u) == (base | 0xf0u)) CHECK(quad_or(1u << q) == 15) CHECK(quad_xor(lane) == 0) CHECK(quad_xor(1u << q) == 15)
  CHECK(quad_prefix_inclusive_sum(q) == q * (q + 1) / 2) CHECK(quad_prefix_exclusive_sum(q) == q * (q - 1) / 2) CHECK(quad_prefix_inclusive_product(2u) == 2u << q)
  CHECK(quad_prefix_exclusive_product(2u) == 1u << q) CHECK((uint)quad_ballot(q > 1) == 12) CHECK(quad_all(q < 4) && !quad_all(q < 3)) CHECK(quad_any(q == 3) && !quad_any(q > 3))
  CHECK(quad_is_first() == (q == 0)) CHECK((uint)quad_active_threads_mask() == 15) CHECK(quad_ballot(true).all() && !quad_ballot(q == 0).all() && quad_ballot(q == 0).any() && !quad_ballot(false).any())
  CHECK(all(quad_sum(uint2(lane, 1)) == uint2(base * 4 + 6, 4))) CHECK(all(quad_or(uint2(1u << q, 2)) == uint2(15, 2)))
  if (q != 0) {
    CHECK(quad_is_first() == (q == 1)) CHECK((uint)quad_active_threads_mask() == 14) CHECK(quad_broadcast_first(lane) == base + 1) CHECK(quad_all(q > 0))
    CHECK(quad_or(1u << q) == 14) CHECK(quad_prefix_exclusive_sum(q) == (q == 1 ? 0 : q == 2 ? 1 : 3))
  }
}
