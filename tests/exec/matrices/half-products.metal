// Products of half and bfloat with sums in float and half, where no element is looked at in a register.
//! kernel: products
//! arg 0: f16 0..64
//! arg 1: bf16 0..64
//! arg 2: f32 0*256
//! arg 3: f16 0*64
//! arg 4: u32 0*1
//! expect 4: u32 0
//! threads: 64
//! group: 64
#include <metal_stdlib>
using namespace metal;

kernel void products(device const half* h [[buffer(0)]], device const bfloat* b [[buffer(1)]], device float* sums [[buffer(2)]],
                     device half* halves [[buffer(3)]], device atomic_uint* wrong [[buffer(4)]],
                     uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]]) {
  threadgroup half tile[64];
  for (uint i = lane; i < 64; i += 32) tile[i] = h[63 - i] / 8;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  simdgroup_half8x8 x, y;
  simdgroup_bfloat8x8 p, q;
  simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8>(3.0f);
  simdgroup_half8x8 narrow = make_filled_simdgroup_matrix<half, 8>(half(0));
  simdgroup_load(x, h, 8);
  simdgroup_load(y, tile, 8);
  for (uint i = 0; i < 2; i++) simdgroup_multiply_accumulate(sum, x, y, sum);
  simdgroup_store(sum, sums + 128 * group, 8);
  simdgroup_load(p, b, 8);
  simdgroup_load(q, b, 8, 0, true);
  simdgroup_multiply(sum, p, q);
  simdgroup_store(sum, sums + 128 * group + 64, 8, 0, true);
  simdgroup_load(y, h, 8, 0, true);
  simdgroup_multiply_accumulate(narrow, y, make_filled_simdgroup_matrix<half, 8>(half(0.125)), narrow);
  if (group == 0) simdgroup_store(narrow, halves, 8);
  simdgroup_barrier(mem_flags::mem_device);
  for (uint at = lane; at < 64; at += 32) {
    uint row = at / 8, column = at % 8;
    float first = 3, second = 0, third = 0;
    for (uint k = 0; k < 8; k++) {
      first += 2 * float(row * 8 + k) * float(63 - k * 8 - column) / 8;
      second += float(column * 8 + k) * float(row * 8 + k);
      third += float(k * 8 + row) / 8;
    }
    bool is_wrong = sums[128 * group + at] != first || sums[128 * group + 64 + at] != second || (group == 0 && halves[at] != half(third));
    if (is_wrong) atomic_fetch_add_explicit(wrong, 1, memory_order_relaxed);
  }
}
