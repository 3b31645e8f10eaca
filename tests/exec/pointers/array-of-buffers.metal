// Arrays of pointers in constant and threadgroup memory, indexed differently in each lane.
//! covers: MSL 2.13
//! kernel: pick
//! threads: 64
//! group: 64
//! arg 0: u64 0*4
//! arg 1: u32 0*64
//! arg 2: u32 100..228
//! arg 3: u32 200..264
//! arg 4: u32 300..364
//! pointer 0: 0 to 2
//! pointer 0: 8 to 3
//! pointer 0: 16 to 4
//! pointer 0: 24 to 2+128
//! expect 1: u32 100 201 302 135 104 205 306 139 108 209 310 143 112 213 314 147
#include <metal_stdlib>
using namespace metal;

kernel void pick(constant array<device const uint*, 4>& tables [[buffer(0)]], device uint* out [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
  device const uint* threadgroup shared_tables[4];
  if (i < 4) shared_tables[i] = tables[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  device const uint* table = shared_tables[i % 4];
  out[i] = i % 4 < 3 ? table[i] : tables[3][i];
}
