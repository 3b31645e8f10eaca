// SIMD-group functions over a full group, and votes.
//! covers: MSL 6.9.2
//! kernel: groups
//! arg 0: u32 0*35
//! expect 0: u32 1*34 0
//! threads: 32
//! group: 32
#include <metal_stdlib>
using namespace metal;
#define CHECK(C) { bool fine = simd_all(C); if (lane == 0) out[n] = fine ? 1 : 0; n++; }

kernel void groups(device uint* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
  uint n = 0;
  CHECK(simd_sum(lane) == 496) CHECK(simd_sum(half(1)) == 32) CHECK(simd_product(lane == 3 ? 5 : 1) == 5) CHECK(simd_min(int(lane) - 7) == -7) CHECK(simd_max(float(lane)) == 31)
  CHECK(simd_and(lane | 64u) == 64) CHECK(simd_or(lane) == 31) CHECK(simd_xor(1u << lane) == 0xffffffffu) CHECK(simd_broadcast(lane, 9) == 9) CHECK(simd_broadcast_first(lane) == 0)
  CHECK(simd_prefix_inclusive_sum(1u) == lane + 1) CHECK(simd_prefix_exclusive_sum(1u) == lane) CHECK(simd_prefix_inclusive_product(lane < 5 ? 2u : 1u) == (lane < 5 ? 2u << lane : 32u))
  CHECK(simd_prefix_exclusive_product(lane < 5 ? 2u : 1u) == (lane < 5 ? 1u << lane : 32u)) CHECK(simd_shuffle(lane, ushort(31 - lane)) == 31 - lane) CHECK(simd_shuffle_xor(lane, 5) == (lane ^ 5))
  CHECK(simd_shuffle_up(lane, 4) == (lane < 4 ? lane : lane - 4)) CHECK(simd_shuffle_down(lane, 4) == (lane > 27 ? lane : lane + 4)) CHECK(simd_shuffle_rotate_up(lane, 4) == ((lane - 4) & 31))
  CHECK(simd_shuffle_rotate_down(lane, 4) == ((lane + 4) & 31)) CHECK(simd_shuffle_and_fill_up(lane, lane + 100, 2) == (lane < 2 ? lane + 130 : lane - 2))
  CHECK(simd_shuffle_and_fill_down(lane, lane + 100, 2) == (lane > 29 ? lane + 70 : lane + 2)) CHECK(simd_shuffle_and_fill_up(lane, lane + 100, 2, 8) == (lane % 8 < 2 ? lane + 106 : lane - 2))
  CHECK(simd_shuffle_and_fill_down(lane, lane + 100, 2, 8) == (lane % 8 > 5 ? lane + 94 : lane + 2)) CHECK(all(simd_sum(int2(lane, 1)) == int2(496, 32)))
  CHECK((ulong)simd_ballot(lane < 4) == 15ul) CHECK((ulong)simd_active_threads_mask() == 0xfffffffful) CHECK(simd_any(lane == 7) && !simd_any(lane > 31)) CHECK(simd_is_first() == (lane == 0))
  CHECK(simd_ballot(true).all() && !simd_ballot(lane > 0).all() && simd_ballot(lane == 0).any() && !simd_ballot(false).any()) CHECK(float(simd_sum(bfloat(1))) == 32) CHECK(simd_max(char(lane)) == 31)
  CHECK(simd_shuffle_down(ushort(lane), 1) == (lane == 31 ? 31 : lane + 1)) CHECK(as_type<ulong>(simd_shuffle(as_type<uint2>(ulong(lane) << 33), 3)) == 3ul << 33)
}
