// Atomic operations in both spaces: the old values and the memory afterwards.
//! covers: MSL 2.6, MSL 6.15
//! kernel: atomics
//! arg 0: u32 0*26
//! expect 0: u32 1*25 0
//! arg 1: u32 10
//! arg 2: i32 -10
//! arg 3: f32 1.5
//! arg 4: u64 5 50
//! expect 1: u32 7
//! expect 2: i32 3
//! expect 3: f32 9
//! expect 4: u64 9 7
#include <metal_stdlib>
using namespace metal;
#define CHECK(C) out[n++] = (C) ? 1 : 0;
constexpr constant memory_order R = memory_order_relaxed;

kernel void atomics(device uint* out [[buffer(0)]], device atomic_uint* u [[buffer(1)]], device atomic_int* i [[buffer(2)]], device atomic_float* f [[buffer(3)]],
                    device atomic_ulong* l [[buffer(4)]]) {
  uint n = 0;
  CHECK(atomic_load_explicit(u, R) == 10) CHECK(atomic_fetch_add_explicit(u, 5, R) == 10) CHECK(atomic_fetch_sub_explicit(u, 1u, R) == 15) CHECK(atomic_fetch_and_explicit(u, 12u, R) == 14)
  CHECK(atomic_fetch_or_explicit(u, 3u, R) == 12) CHECK(atomic_fetch_xor_explicit(u, 5u, R) == 15) CHECK(atomic_fetch_min_explicit(u, 4u, R) == 10) CHECK(atomic_fetch_max_explicit(u, 6u, R) == 4)
  CHECK(atomic_exchange_explicit(u, 8u, R) == 6)
  uint expected = 9;
  CHECK(!atomic_compare_exchange_weak_explicit(u, &expected, 1u, R, R) && expected == 8) CHECK(atomic_compare_exchange_weak_explicit(u, &expected, 7u, R, R) && expected == 8)
  CHECK(atomic_fetch_min_explicit(i, 3, R) == -10) CHECK(atomic_fetch_max_explicit(i, 2, R) == -10) CHECK(atomic_fetch_min_explicit(i, -3, R) == 2) CHECK(atomic_load_explicit(i, R) == -3)
  atomic_store_explicit(i, 3, R);
  CHECK(atomic_fetch_add_explicit(f, 2.5f, R) == 1.5f) CHECK(atomic_fetch_sub_explicit(f, 1, R) == 4) CHECK(atomic_exchange_explicit(f, 8.0f, R) == 3)
  float was = 8;
  CHECK(atomic_compare_exchange_weak_explicit(f, &was, 9.0f, R, R)) CHECK(!atomic_compare_exchange_weak_explicit(f, &was, 1.0f, R, R) && was == 9)
  atomic_max_explicit(l, 9, R);
  atomic_min_explicit(l + 1, 7, R);
  threadgroup atomic_uint t;
  atomic_store_explicit(&t, 1, R);
  CHECK(atomic_fetch_add_explicit(&t, 2, R) == 1) CHECK(atomic_fetch_max_explicit(&t, 9u, R) == 3) CHECK(atomic_load_explicit(&t, R) == 9)
  threadgroup atomic_bool flag;
  atomic_store_explicit(&flag, true, R);
  CHECK(atomic_load_explicit(&flag, R)) CHECK(atomic_exchange_explicit(&flag, false, R) && !atomic_load_explicit(&flag, R))
}
