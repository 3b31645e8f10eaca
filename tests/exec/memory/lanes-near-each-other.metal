// Accesses whose lanes lie near each other in another order than side by side, up to the buffers' last
// byte: every order has its own way through the vector code, and none may touch a neighbour.
//! kernel: copies
//! threads: 64
//! group: 64
//! arg 0: u32 0..128
//! arg 1: u32 0*640
//! arg 2: u32 2 0 1 0
//! expect 1: u32 0..128..2 777*64 777*512
//! kernel: copies
//! threads: 64
//! group: 64
//! arg 0: u32 0..128
//! arg 1: u32 0*640
//! arg 2: u32 1 1 1 0
//! expect 1: u32 1 0 3 2 5 4 7 6 9 8 11 10 13 12 15 14 17 16 19 18 21 20 23 22 25 24 27 26 29 28 31 30 33 32 35 34 37 36 39 38 41 40 43 42 45 44 47 46 49 48 51 50 53 52 55 54 57 56 59 58 61 60 63 62 777*64 777*512
//! kernel: reversed
//! threads: 32
//! group: 32
//! arg 0: u32 0..32
//! arg 1: u32 0*32
//! expect 1: u32 31 30 29 28 27 26 25 24 23 22 21 20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0
//! kernel: repeated
//! threads: 32
//! group: 32
//! arg 0: u32 10..18
//! arg 1: u32 0*32
//! expect 1: u32 10 10 10 10 11 11 11 11 12 12 12 12 13 13 13 13 14 14 14 14 15 15 15 15 16 16 16 16 17 17 17 17
//! kernel: spread
//! threads: 32
//! group: 32
//! arg 0: u32 9*63
//! arg 1: u32 2
//! arg 2: u32 0
//! expect 0: u32 0 9 1 9 2 9 3 9 4 9 5 9 6 9 7 9 8 9 9 9 10 9 11 9 12 9 13 9 14 9 15 9 16 9 17 9 18 9 19 9 20 9 21 9 22 9 23 9 24 9 25 9 26 9 27 9 28 9 29 9 30 9 31
//! kernel: spread
//! threads: 32
//! group: 32
//! arg 0: u32 9*63
//! arg 1: u32 2
//! arg 2: u32 1
//! expect 0: u32 9 9 1 9 9 9 3 9 9 9 5 9 9 9 7 9 9 9 9 9 9 9 11 9 9 9 13 9 9 9 15 9 9 9 17 9 9 9 19 9 9 9 21 9 9 9 23 9 9 9 25 9 9 9 27 9 9 9 29 9 9 9 31
//! kernel: spread
//! threads: 32
//! group: 32
//! arg 0: u32 9*63
//! arg 1: u32 3
//! arg 2: u32 0
//! faults: yes
//! expect 0: u32 0 9 9 1 9 9 2 9 9 3 9 9 4 9 9 5 9 9 6 9 9 7 9 9 8 9 9 9 9 9 10 9 9 11 9 9 12 9 9 13 9 9 14 9 9 15 9 9 16 9 9 17 9 9 18 9 9 19 9 9 20 9 9
//! kernel: bytes_apart
//! threads: 32
//! group: 32
//! arg 0: u8 0*253
//! arg 1: u32 8
//! expect 0: u8 0 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0 3 0 0
//! kernel: exchanged
//! threads: 32
//! group: 32
//! arg 0: u32 5 4 7 6 1 0 3 2 8*56
//! arg 1: u32 1
//! expect 0: u32 4 5 6 7 0 1 2 3 8*56
#include <metal_stdlib>
using namespace metal;

kernel void copies(device const uint* in, device uint* out, constant uint4& how, uint i [[thread_position_in_grid]]) {
  uint from = how.x * i;
  if (how.y != 0) from = from ^ how.z;
  out[i] = in[from];
  for (uint k = 1; k < 10; k++) out[64 * k + i] = 777;
}

kernel void reversed(device const uint* in, device uint* out, uint i [[thread_position_in_grid]]) {
  uint at = 31 - i;
  out[min(i, 31u)] = in[min(at, 31u)];
}

kernel void repeated(device const uint* in, device uint* out, uint i [[thread_position_in_grid]]) {
  out[i] = in[min(i / 4, 7u)];
}

// Only the odd ones store if asked for; what lies between stays.
kernel void spread(device uint* out, constant uint& step, constant uint& odd, uint i [[thread_position_in_grid]]) {
  if (odd == 0 || (i & 1) != 0) out[i * step] = i;
}

kernel void bytes_apart(device uchar* out, constant uint& step, uint i [[thread_position_in_grid]]) {
  device packed_uchar4* to = (device packed_uchar4*)(out + 1 + i * step);
  if (i < 31) *to = packed_uchar4(uchar(i + 1), 0, 0, 0);
}

kernel void exchanged(device uint* keys, constant uint& stride, uint i [[thread_position_in_grid]]) {
  uint low = 2 * i - (i & (stride - 1));
  uint high = low + stride;
  uint a = keys[low], b = keys[high];
  if (a > b) { keys[low] = b; keys[high] = a; }
}
