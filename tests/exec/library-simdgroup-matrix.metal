// SIMD-group matrices: construction, the lane layout, loads with origin and transpose, products.
//! covers: MSL 2.4, MSL 6.7
//! kernel: matrices
//! arg 0: u32 0*18
//! expect 0: u32 1*17 0
//! threads: 32
//! group: 32
//! arg 1: f32 0..128
//! arg 2: f16 0..64
//! arg 3: f32 0*512
#include <metal_stdlib>
using namespace metal;
#define CHECK(C) { bool fine = simd_all(C); if (lane == 0) out[n] = fine ? 1 : 0; n++; }

kernel void matrices(device uint* out [[buffer(0)]], device const float* f [[buffer(1)]], device const half* h [[buffer(2)]], device float* store [[buffer(3)]],
                     uint lane [[thread_index_in_simdgroup]]) {
  uint n = 0;
  uint row = (lane / 4 & 4) + lane / 2 % 4, column = (lane / 4 & 2) * 2 + lane % 2 * 2;
  simdgroup_float8x8 a, b, c;
  simdgroup_half8x8 x;
  threadgroup float shared[64];
  simdgroup_load(a, f);
  CHECK(a.thread_elements()[0] == row * 8 + column && a.thread_elements()[1] == row * 8 + column + 1)
  simdgroup_load(b, f, 16);
  CHECK(b.thread_elements()[0] == row * 16 + column)
  simdgroup_load(b, f, 16, ulong2(3, 0));
  CHECK(b.thread_elements()[0] == row * 16 + column + 3)
  simdgroup_load(b, f, 8, ulong2(0, 2));
  CHECK(b.thread_elements()[0] == row * 8 + column + 16)
  simdgroup_load(b, f, 8, 0, true);
  CHECK(b.thread_elements()[0] == column * 8 + row && b.thread_elements()[1] == (column + 1) * 8 + row)
  simdgroup_load(x, h);
  CHECK(x.thread_elements()[1] == row * 8 + column + 1)
  c = simdgroup_float8x8(2.0f);
  CHECK(c.thread_elements()[0] == (row == column ? 2 : 0) && c.thread_elements()[1] == (row == column + 1 ? 2 : 0))
  simdgroup_multiply(c, a, c);
  CHECK(all(c.thread_elements() == 2.0f * a.thread_elements()))
  c = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
  CHECK(all(c.thread_elements() == float2(1)))
  simdgroup_multiply_accumulate(c, a, simdgroup_float8x8(1.0f), c);
  CHECK(all(c.thread_elements() == a.thread_elements() + 1))
  c = make_filled_simdgroup_matrix<float, 8>(0.0f);
  simdgroup_multiply_accumulate(c, x, x, c);
  float sum = 0;
  for (uint k = 0; k < 8; k++) sum += float(row * 8 + k) * float(k * 8 + column);
  CHECK(c.thread_elements()[0] == sum)
  simdgroup_multiply_accumulate(c, x, a, make_filled_simdgroup_matrix<float, 8>(0.0f));
  CHECK(c.thread_elements()[0] == sum)
  simdgroup_store(a, store);
  simdgroup_store(a, store + 64, 8, 0, true);
  simdgroup_store(a, store + 128, 16, ulong2(4, 1));
  simdgroup_store(a, shared, 8);
  simdgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  CHECK(store[lane] == lane && store[lane + 32] == lane + 32)
  CHECK(store[64 + row * 8 + column] == column * 8 + row)
  CHECK(store[128 + 16 + 4 + row * 16 + column] == row * 8 + column)
  CHECK(shared[lane * 2] == lane * 2)
  CHECK(all((a * simdgroup_float8x8(3.0f)).thread_elements() == 3.0f * a.thread_elements()))
}
