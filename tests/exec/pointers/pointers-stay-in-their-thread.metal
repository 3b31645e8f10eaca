// Null, uninitialised and misaligned pointers to thread memory: a fault, or the thread's own memory.
//! threads: 40
//! group: 40
//! arg 0: i32 0*40

//! kernel: null_in_some
//! arg 1: u32 0
//! faults: yes
//! expect 0: i32 (0 1) *20
//! kernel: null_in_all
//! arg 1: u32 0
//! faults: yes
//! expect 0: i32 0*40
//! kernel: uninitialised
//! arg 1: u32 0
//! faults: yes
//! expect 0: i32 (0 1 5 1) *10
//! kernel: store_to_null
//! arg 1: u32 0
//! faults: yes
//! expect 0: i32 10*40
//! kernel: too_small
//! arg 1: u32 0
//! faults: yes
//! expect 0: i32 0*40
//! kernel: misaligned
//! arg 1: u32 1
//! expect 0: i32 16843009 0*39
//! kernel: misaligned
//! arg 1: u32 2
//! expect 0: i32 16843009 0*39
//! kernel: misaligned_wide
//! arg 1: u32 3
//! expect 0: i32 0 16843009 0*38
//! kernel: misaligned_half
//! arg 1: u32 1
//! expect 0: i32 65792 0*39
#include <metal_stdlib>
using namespace metal;

#define ARGS device int* y, constant uint& n, uint t [[thread_position_in_grid]]

kernel void null_in_some(ARGS) {
  int a[4] = {1, 2, 3, 4};
  thread int* p = (t & 1) ? a : nullptr;
  y[t] = p[n];
}
kernel void null_in_all(ARGS) {
  int a[4] = {1, 2, 3, 4};
  thread int* p = t > 100 ? a : nullptr;
  y[t] = p[n];
}
kernel void uninitialised(ARGS) {
  int a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
  thread int* p;
  if (t & 1) p = a; else if (t & 2) p = b;
  y[t] = p[n];
}
kernel void store_to_null(ARGS) {
  int a[4] = {1, 2, 3, 4};
  thread int* p = (t & 1) ? nullptr : t > 100 ? a : nullptr;
  p[n] = 7;
  y[t] = a[0] + a[1] + a[2] + a[3];
}
// What is loaded is larger than the variable that the pointer turns out to be to.
kernel void too_small(ARGS) {
  char a[1] = {1}, b[1] = {2};
  thread char* p = (t & 1) ? a : b;
  int4 v = *(thread int4*)p;
  y[t] = v.x + v.y + v.z + v.w;
}
kernel void misaligned(ARGS) {
  int a[4] = {0, 0, 0, 0};
  thread char* q = (thread char*)a;
  if (t == 0) *(thread int*)(q + n) = 0x01010101;
  y[t] = n == 1 ? a[0] / 256 * 256 + a[1] : (a[0] & 0x7fff0000) + a[1];
}
kernel void misaligned_wide(ARGS) {
  long a[4] = {0, 0, 0, 0};
  thread char* q = (thread char*)a;
  if (t == 1) *(thread int*)(q + n) = 0x01010101;
  y[t] = int(a[0] >> 24);
}
kernel void misaligned_half(ARGS) {
  int a[4] = {0, 0, 0, 0};
  thread char* q = (thread char*)a;
  if (t == 0) *(thread short*)(q + n) = 0x0101;
  y[t] = a[0];
}
