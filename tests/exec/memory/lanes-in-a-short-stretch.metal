// Lanes in any order within two vectors: partners whose distance the program is given.
//! kernel: partners
//! threads: 128
//! group: 64
//! arg 0: u32 0..192
//! arg 1: u32 0*128
//! arg 2: u32 3
//! expect 1: u32 3 2 1 0 7 6 5 4 11 10 9 8 15 14 13 12 19 18 17 16 23 22 21 20 27 26 25 24 31 30 29 28 35 34 33 32
//! kernel: partners
//! threads: 128
//! group: 64
//! arg 0: u32 0..128
//! arg 1: u32 0*128
//! arg 2: u32 16
//! expect 1: u32 16..32 0..16 48..64 32..48 80..96 64..80 112..128 96..112
//! kernel: partners
//! faults: yes
//! threads: 64
//! group: 64
//! arg 0: u32 1..41
//! arg 1: u32 7*64
//! arg 2: u32 16
//! expect 1: u32 17..33 1..17 0*16 33..41 0*8
//! kernel: every_second
//! threads: 64
//! group: 64
//! arg 0: u32 0..200
//! arg 1: u32 0*64
//! arg 2: u32 2
//! expect 1: u32 5..133..2
//! kernel: every_second
//! threads: 64
//! group: 64
//! arg 0: u32 0..200
//! arg 1: u32 0*64
//! arg 2: u32 3
//! expect 1: u32 5..197..3
//! kernel: halves
//! threads: 64
//! group: 64
//! arg 0: u16 100..228
//! arg 1: u16 0*64
//! arg 2: u32 31
//! expect 1: u16 131 130 129 128 127 126 125 124 123 122 121 120 119 118 117 116 115 114 113 112 111 110 109 108 107 106 105
//! kernel: long_indices
//! threads: 64
//! group: 64
//! arg 0: f32 0..192
//! arg 1: f32 0*64
//! arg 2: u64 17
//! expect 1: f32 17 16 19 18 21 20 23 22 25 24 27 26 29 28 31 30 1 0 3 2 5 4 7 6 9 8 11 10 13 12 15 14 49 48
//! kernel: below_zero
//! threads: 64
//! group: 64
//! arg 0: i32 0..192
//! arg 1: i32 0*64
//! arg 2: i32 1
//! expect 1: i32 1 0 3 2 5 4 7 6 9 8 11 10 13 12 15 14 17 16 19 18 21 20 23 22 25 24 27 26 29 28 31 30 33 32
//! kernel: some_lanes
//! threads: 64
//! group: 64
//! arg 0: u32 0..192
//! arg 1: u32 7*64
//! arg 2: u32 1
//! expect 1: u32 7*16 1 0 3 2 5 4 7 6 9 8 11 10 13 12 15 14 17 16 19 18
#include <metal_stdlib>
using namespace metal;

kernel void partners(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]],
                     constant uint& distance [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  out[i] = in[i ^ distance];
}

kernel void every_second(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]],
                         constant uint& step [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  uint place = i * step;
  out[i] = in[place + 5];
}

kernel void halves(device const ushort* in [[buffer(0)]], device ushort* out [[buffer(1)]],
                   constant uint& distance [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  out[i] = in[i ^ distance];
}

kernel void long_indices(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                         constant ulong& distance [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  out[i] = in[ulong(i) ^ distance];
}

kernel void below_zero(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                       constant int& distance [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  int place = (int(i) - 62) ^ distance;
  out[i] = (in + 62)[place];
}

// The indices of lanes that are off wrap.
kernel void some_lanes(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]],
                       constant uint& distance [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i >= 16) {
    out[i] = in[(i ^ distance) - 16];
  }
}
