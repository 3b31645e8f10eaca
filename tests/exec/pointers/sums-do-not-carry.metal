// Sums of pointers whose allocation is known at run time only: however far they go, they stay in their allocation,
// and an access beyond it is a fault.
//! faults: yes
//! threads: 1
//! arg 0: i32 0*8
//! arg 1: i32 1..9
//! expect 0: i32 0*8
//! expect 1: i32 1 2 3 4 5 6 7 8

//! kernel: one_step
//! arg 2: u32 1
//! kernel: one_step
//! arg 2: u32 2
//! kernel: one_step
//! arg 2: u32 65535
//! kernel: byte_step
//! arg 2: u32 1
//! kernel: many_steps
//! arg 2: u32 1
//! kernel: backwards
//! arg 2: u32 1
//! kernel: by_loop
//! arg 2: u32 4
//! kernel: chosen_after
//! arg 2: u32 1
//! kernel: chosen_after
//! arg 2: u32 3
//! kernel: through_memory
//! arg 2: u32 1
//! kernel: lanes
//! threads: 32
//! group: 32
//! arg 2: u32 1
//! kernel: lanes_apart
//! threads: 32
//! group: 32
//! arg 2: u32 1
//! kernel: of_constants
//! arg 2: u32 1
//! kernel: of_threadgroup
//! arg 2: u32 1
//! kernel: atomics
//! arg 2: u32 1
//! kernel: copies
//! arg 2: u32 1
#include <metal_stdlib>
using namespace metal;

constant int table[4] = {1, 2, 3, 4};
struct Wide { int words[4]; };

#define ARGS device int* y [[buffer(0)]], device const int* other [[buffer(1)]], constant uint& n [[buffer(2)]]

// 2^48 bytes beyond `y` is `other` for an executor that adds to a number and an offset in one word.
kernel void one_step(ARGS) {
  device int* p = n > 100000 ? (device int*)nullptr : y;
  p += ulong(n) << 46;
  p[0] = 7;
}
kernel void byte_step(ARGS) {
  device char* p = n > 100 ? (device char*)nullptr : (device char*)y;
  p += ulong(n) << 48;
  *(device int*)p = 7;
}
kernel void many_steps(ARGS) {
  device int* p = n > 100 ? (device int*)nullptr : y;
  for (uint i = 0; i < 16; i++) p += ulong(n) << 42;
  p[0] = 7;
}
kernel void backwards(ARGS) {
  device int* p = n > 100 ? (device int*)nullptr : y;
  p -= ulong(n) << 46;
  p[0] = 7;
}
kernel void by_loop(ARGS) {
  device int* p = n > 100 ? (device int*)nullptr : y;
  for (uint i = 0; i < n; i++) p = p + (1ul << 44);
  p[0] = 7;
}
// The sum comes first, in the form of a known allocation.
kernel void chosen_after(ARGS) {
  device int* far = y + (ulong(n) << 46);
  device int* p = n > 100 ? y + 1 : far;
  p = n > 200 ? (device int*)nullptr : p;
  p[0] = 7;
}
kernel void through_memory(ARGS, uint t [[thread_index_in_threadgroup]]) {
  device int* kept[2] = {y + (ulong(n) << 46), y + (ulong(n) << 47)};
  kept[t & 1][0] = 7;
}
kernel void lanes(ARGS, uint t [[thread_index_in_threadgroup]]) {
  device int* p = t > 100 ? (device int*)nullptr : y + t;
  p += (ulong(n) << 46) - t;
  p[0] = 7;
}
kernel void lanes_apart(ARGS, uint t [[thread_index_in_threadgroup]]) {
  device int* p = (t & 1) ? y : y + 4;
  p += (ulong(n) << 41) * t;
  if (t > 16) p[0] = 7;
}
kernel void of_constants(ARGS) {
  constant int* p = n > 100 ? (constant int*)&n : table;
  p += ulong(n) << 46;
  y[0] = p[0];
}
kernel void of_threadgroup(ARGS) {
  threadgroup int a[4], b[4];
  a[0] = b[0] = 0;
  threadgroup int* p = n > 100 ? b : a;
  p += ulong(n) << 46;
  p[0] = 7;
  y[0] = b[0];
}
kernel void atomics(ARGS) {
  device atomic_int* p = n > 100 ? (device atomic_int*)nullptr : (device atomic_int*)y;
  p += ulong(n) << 46;
  atomic_fetch_add_explicit(p, 7, memory_order_relaxed);
}
kernel void copies(ARGS) {
  device Wide* p = n > 100 ? (device Wide*)nullptr : (device Wide*)y;
  p += ulong(n) << 44;
  *p = Wide{{7, 7, 7, 7}};
}
