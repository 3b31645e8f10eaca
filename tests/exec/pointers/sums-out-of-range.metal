// A pointer whose offset left the range of offsets stays out of bounds, whatever is added to it in that direction.
//! threads: 40
//! group: 40
//! arg 0: i32 1*256
//! arg 1: u64 0 0
//! pointer 1: 8 to 0
//! arg 2: u32 1
//! arg 3: i32 5*40
//! faults: yes
//! kernel: down
//! expect 3: i32 0*40
//! kernel: up
//! expect 3: i32 0*40
//! kernel: down_in_some
//! expect 3: i32 (0 1) *20
#include <metal_stdlib>
using namespace metal;

#define ARGS device int* y [[buffer(0)]], device ulong* words [[buffer(1)]], constant uint& n [[buffer(2)]], device int* out [[buffer(3)]], uint t [[thread_index_in_threadgroup]]

kernel void down(ARGS) {
  device int* p = (device int*)words[1];
  for (uint i = 0; i < n * 3; i++) p -= long(n) << 45;
  out[t] = p[7];
}

kernel void up(ARGS) {
  device int* p = (device int*)words[1];
  for (uint i = 0; i < n * 5; i++) p += long(n) << 45;
  out[t] = p[7];
}

kernel void down_in_some(ARGS) {
  device int* p = (device int*)words[1];
  for (uint i = 0; i < n * 3; i++) p -= t & 1 ? 0 : long(n) << 45;
  out[t] = p[7 + t];
}
