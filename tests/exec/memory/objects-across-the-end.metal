// Structures, arrays and matrices across the end of a buffer: each scalar or vector member that is wholly inside is stored
// or loaded. The others are not stored, and load as zero.
//! kernel: words
//! threads: 2
//! group: 2
//! arg 0: f32 0*6
//! arg 1: f32 1 2 3 4
//! expect 0: f32 1 2 3 4 1 2
//! faults: yes
//! kernel: words_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*6
//! arg 1: f32 1 2 3 4
//! expect 0: f32 1 2 3 4 11 12
//! faults: yes
//! kernel: words_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*6
//! arg 1: f32 1 2 3 4
//! expect 0: f32 1 2 3 4 1 2
//! faults: yes
//! kernel: words_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 6
//! arg 1: f32 0*8
//! expect 1: f32 1 2 3 4 5 6 0 0
//! faults: yes
//! kernel: words
//! threads: 2
//! group: 2
//! arg 0: f32 0*7
//! arg 1: f32 1 2 3 4
//! expect 0: f32 1 2 3 4 1 2 3
//! faults: yes
//! kernel: words_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*7
//! arg 1: f32 1 2 3 4
//! expect 0: f32 1 2 3 4 11 12 13
//! faults: yes
//! kernel: words_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*7
//! arg 1: f32 1 2 3 4
//! expect 0: f32 1 2 3 4 1 2 3
//! faults: yes
//! kernel: words_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 6 7
//! arg 1: f32 0*8
//! expect 1: f32 1 2 3 4 5 6 7 0
//! faults: yes
//! kernel: nested
//! threads: 2
//! group: 2
//! arg 0: f32 0*10
//! arg 1: f32 1 2 3 4 5 6 7
//! expect 0: f32 1 2 3 4 5 6 7 1 2 3
//! faults: yes
//! kernel: nested_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*10
//! arg 1: f32 1 2 3 4 5 6 7
//! expect 0: f32 1 2 3 4 5 6 7 11 12 13
//! faults: yes
//! kernel: nested_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*10
//! arg 1: f32 1 2 3 4 5 6 7
//! expect 0: f32 1 2 3 4 5 6 7 1 2 3
//! faults: yes
//! kernel: nested_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 6 7 8 9 10
//! arg 1: f32 0*14
//! expect 1: f32 1 2 3 4 5 6 7 8 9 10 0 0 0 0
//! faults: yes
//! kernel: nested
//! threads: 2
//! group: 2
//! arg 0: f32 0*13
//! arg 1: f32 1 2 3 4 5 6 7
//! expect 0: f32 1 2 3 4 5 6 7 1 2 3 4 5 6
//! faults: yes
//! kernel: nested_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*13
//! arg 1: f32 1 2 3 4 5 6 7
//! expect 0: f32 1 2 3 4 5 6 7 11 12 13 14 15 16
//! faults: yes
//! kernel: nested_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*13
//! arg 1: f32 1 2 3 4 5 6 7
//! expect 0: f32 1 2 3 4 5 6 7 1 2 3 4 5 6
//! faults: yes
//! kernel: nested_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 6 7 8 9 10 11 12 13
//! arg 1: f32 0*14
//! expect 1: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 0
//! faults: yes
//! kernel: vectors
//! threads: 2
//! group: 2
//! arg 0: f32 0*12
//! arg 1: f32 1 2 3 4 5 6 7 8
//! expect 0: f32 1 2 3 4 5 6 7 8 1 2 3 4
//! faults: yes
//! kernel: vectors_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*12
//! arg 1: f32 1 2 3 4 5 6 7 8
//! expect 0: f32 1 2 3 4 5 6 7 8 11 12 13 14
//! faults: yes
//! kernel: vectors_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*12
//! arg 1: f32 1 2 3 4 5 6 7 8
//! expect 0: f32 1 2 3 4 5 6 7 8 1 2 3 4
//! faults: yes
//! kernel: vectors_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 6 7 8 9 10 11 12
//! arg 1: f32 0*16
//! expect 1: f32 1 2 3 4 5 6 7 8 9 10 11 12 0 0 0 0
//! faults: yes
//! kernel: vectors
//! threads: 2
//! group: 2
//! arg 0: f32 0*14
//! arg 1: f32 1 2 3 4 5 6 7 8
//! expect 0: f32 1 2 3 4 5 6 7 8 1 2 3 4 0 0
//! faults: yes
//! kernel: vectors_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*14
//! arg 1: f32 1 2 3 4 5 6 7 8
//! expect 0: f32 1 2 3 4 5 6 7 8 11 12 13 14 0 0
//! faults: yes
//! kernel: vectors_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*14
//! arg 1: f32 1 2 3 4 5 6 7 8
//! expect 0: f32 1 2 3 4 5 6 7 8 1 2 3 4 0 0
//! faults: yes
//! kernel: vectors_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14
//! arg 1: f32 0*16
//! expect 1: f32 1 2 3 4 5 6 7 8 9 10 11 12 0 0 0 0
//! faults: yes
//! kernel: three
//! threads: 2
//! group: 2
//! arg 0: f32 0*6
//! arg 1: f32 1 2 3 0
//! expect 0: f32 1 2 3 0 0 0
//! faults: yes
//! kernel: three_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*6
//! arg 1: f32 1 2 3 0
//! expect 0: f32 1 2 3 0 0 0
//! faults: yes
//! kernel: three_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*6
//! arg 1: f32 1 2 3 0
//! expect 0: f32 1 2 3
//! faults: yes
//! kernel: three_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 0 5 6
//! arg 1: f32 0*8
//! expect 1: f32 1 2 3 0 0 0 0 0
//! faults: yes
//! kernel: threes
//! threads: 2
//! group: 2
//! arg 0: f32 0*14
//! arg 1: f32 1 2 3 0 5 6 7 0
//! expect 0: f32 1 2 3 0 5 6 7 0 1 2 3 0 0 0
//! faults: yes
//! kernel: threes_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*14
//! arg 1: f32 1 2 3 0 5 6 7 0
//! expect 0: f32 1 2 3 0 5 6 7 0 11 12 13 0 0 0
//! faults: yes
//! kernel: threes_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*14
//! arg 1: f32 1 2 3 0 5 6 7 0
//! expect 0: f32 1 2 3
//! faults: yes
//! kernel: threes_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 0 5 6 7 0 9 10 11 0 13 14
//! arg 1: f32 0*16
//! expect 1: f32 1 2 3 0 5 6 7 0 9 10 11 0 0 0 0 0
//! faults: yes
//! kernel: packed
//! threads: 2
//! group: 2
//! arg 0: f32 0*8
//! arg 1: f32 1 2 3 4 5 6
//! expect 0: f32 1 2 3 4 5 6 0 0
//! faults: yes
//! kernel: packed_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*8
//! arg 1: f32 1 2 3 4 5 6
//! expect 0: f32 1 2 3 4 5 6 0 0
//! faults: yes
//! kernel: packed_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*8
//! arg 1: f32 1 2 3 4 5 6
//! expect 0: f32 1 2 3 4 5 6 0 0
//! faults: yes
//! kernel: packed_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 6 7 8
//! arg 1: f32 0*12
//! expect 1: f32 1 2 3 4 5 6 0 0 0 0 0 0
//! faults: yes
//! kernel: packed
//! threads: 2
//! group: 2
//! arg 0: f32 0*9
//! arg 1: f32 1 2 3 4 5 6
//! expect 0: f32 1 2 3 4 5 6 1 2 3
//! faults: yes
//! kernel: packed_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*9
//! arg 1: f32 1 2 3 4 5 6
//! expect 0: f32 1 2 3 4 5 6 11 12 13
//! faults: yes
//! kernel: packed_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*9
//! arg 1: f32 1 2 3 4 5 6
//! expect 0: f32 1 2 3 4 5 6 1 2 3
//! faults: yes
//! kernel: packed_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 6 7 8 9
//! arg 1: f32 0*12
//! expect 1: f32 1 2 3 4 5 6 7 8 9 0 0 0
//! faults: yes
//! kernel: mixed
//! threads: 2
//! group: 2
//! arg 0: f32 0*12
//! arg 1: f32 1 2 3 4 5 0 0 0
//! expect 0: f32 1 2 3 4 5 0 0 0 1 2 3 4
//! faults: yes
//! kernel: mixed_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*12
//! arg 1: f32 1 2 3 4 5 0 0 0
//! expect 0: f32 1 2 3 4 5 0 0 0 11 12 13 14
//! faults: yes
//! kernel: mixed_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*12
//! arg 1: f32 1 2 3 4 5 0 0 0
//! expect 0: f32 1 2 3 4 5
//! faults: yes
//! kernel: mixed_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 0 0 0 9 10 11 12
//! arg 1: f32 0*16
//! expect 1: f32 1 2 3 4 5 0 0 0 9 10 11 12 0 0 0 0
//! faults: yes
//! kernel: columns2
//! threads: 2
//! group: 2
//! arg 0: f32 0*6
//! arg 1: f32 1 2 3 4
//! expect 0: f32 1 2 3 4 1 2
//! faults: yes
//! kernel: columns2_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*6
//! arg 1: f32 1 2 3 4
//! expect 0: f32 1 2 3 4 11 12
//! faults: yes
//! kernel: columns2_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*6
//! arg 1: f32 1 2 3 4
//! expect 0: f32 1 2 3 4 1 2
//! faults: yes
//! kernel: columns2_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 6
//! arg 1: f32 0*8
//! expect 1: f32 1 2 3 4 5 6 0 0
//! faults: yes
//! kernel: columns2
//! threads: 2
//! group: 2
//! arg 0: f32 0*7
//! arg 1: f32 1 2 3 4
//! expect 0: f32 1 2 3 4 1 2 0
//! faults: yes
//! kernel: columns2_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*7
//! arg 1: f32 1 2 3 4
//! expect 0: f32 1 2 3 4 11 12 0
//! faults: yes
//! kernel: columns2_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*7
//! arg 1: f32 1 2 3 4
//! expect 0: f32 1 2 3 4 1 2 0
//! faults: yes
//! kernel: columns2_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 6 7
//! arg 1: f32 0*8
//! expect 1: f32 1 2 3 4 5 6 0 0
//! faults: yes
//! kernel: columns3
//! threads: 2
//! group: 2
//! arg 0: f32 0*18
//! arg 1: f32 1 2 3 0 5 6 7 0 9 10 11 0
//! expect 0: f32 1 2 3 0 5 6 7 0 9 10 11 0 1 2 3 0 0 0
//! faults: yes
//! kernel: columns3_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*18
//! arg 1: f32 1 2 3 0 5 6 7 0 9 10 11 0
//! expect 0: f32 1 2 3 0 5 6 7 0 9 10 11 0 11 12 13 0 0 0
//! faults: yes
//! kernel: columns3_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*18
//! arg 1: f32 1 2 3 0 5 6 7 0 9 10 11 0
//! expect 0: f32 1 2 3
//! faults: yes
//! kernel: columns3_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 0 5 6 7 0 9 10 11 0 13 14 15 0 17 18
//! arg 1: f32 0*24
//! expect 1: f32 1 2 3 0 5 6 7 0 9 10 11 0 13 14 15 0 0 0 0 0 0 0 0 0
//! faults: yes
//! kernel: columns3
//! threads: 2
//! group: 2
//! arg 0: f32 0*19
//! arg 1: f32 1 2 3 0 5 6 7 0 9 10 11 0
//! expect 0: f32 1 2 3 0 5 6 7 0 9 10 11 0 1 2 3 0 5 6 7
//! faults: yes
//! kernel: columns3_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*19
//! arg 1: f32 1 2 3 0 5 6 7 0 9 10 11 0
//! expect 0: f32 1 2 3 0 5 6 7 0 9 10 11 0 11 12 13 0 15 16 17
//! faults: yes
//! kernel: columns3_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*19
//! arg 1: f32 1 2 3 0 5 6 7 0 9 10 11 0
//! expect 0: f32 1 2 3
//! faults: yes
//! kernel: columns3_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 0 5 6 7 0 9 10 11 0 13 14 15 0 17 18 19
//! arg 1: f32 0*24
//! expect 1: f32 1 2 3 0 5 6 7 0 9 10 11 0 13 14 15 0 17 18 19 0 0 0 0 0
//! faults: yes
//! kernel: columns4
//! threads: 2
//! group: 2
//! arg 0: f32 0*24
//! arg 1: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
//! expect 0: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 2 3 4 5 6 7 8
//! faults: yes
//! kernel: columns4_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*24
//! arg 1: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
//! expect 0: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 11 12 13 14 15 16 17 18
//! faults: yes
//! kernel: columns4_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*24
//! arg 1: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
//! expect 0: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 2 3 4 5 6 7 8
//! faults: yes
//! kernel: columns4_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24
//! arg 1: f32 0*32
//! expect 1: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 0 0 0 0 0 0 0 0
//! faults: yes
//! kernel: columns4
//! threads: 2
//! group: 2
//! arg 0: f32 0*26
//! arg 1: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
//! expect 0: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 2 3 4 5 6 7 8 0 0
//! faults: yes
//! kernel: columns4_changed
//! threads: 2
//! group: 2
//! arg 0: f32 0*26
//! arg 1: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
//! expect 0: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 11 12 13 14 15 16 17 18 0 0
//! faults: yes
//! kernel: columns4_shared
//! threads: 2
//! group: 2
//! arg 0: f32 0*26
//! arg 1: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
//! expect 0: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 2 3 4 5 6 7 8 0 0
//! faults: yes
//! kernel: columns4_read
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26
//! arg 1: f32 0*32
//! expect 1: f32 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 0 0 0 0 0 0 0 0
//! faults: yes
#include <metal_stdlib>
using namespace metal;

struct Words { float a[4]; };
kernel void words(device Words* y [[buffer(0)]], constant Words& s [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = s; }
kernel void words_changed(device Words* y [[buffer(0)]], constant Words& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  Words p = s;
  float d = 10 * t;
  for (uint k = 0; k < 4; k++) p.a[k] += d;
  y[t] = p;
}
kernel void words_shared(device Words* y [[buffer(0)]], constant Words& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  threadgroup Words shared[2];
  shared[t] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = shared[1 - t];
}
kernel void words_read(device const Words* x [[buffer(0)]], device Words* y [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = x[t]; }

struct Inner { float b; float c[2]; }; struct Outer { float a; Inner i[2]; };
kernel void nested(device Outer* y [[buffer(0)]], constant Outer& s [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = s; }
kernel void nested_changed(device Outer* y [[buffer(0)]], constant Outer& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  Outer p = s;
  float d = 10 * t;
  p.a += d; for (uint k = 0; k < 2; k++) { p.i[k].b += d; p.i[k].c[0] += d; p.i[k].c[1] += d; }
  y[t] = p;
}
kernel void nested_shared(device Outer* y [[buffer(0)]], constant Outer& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  threadgroup Outer shared[2];
  shared[t] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = shared[1 - t];
}
kernel void nested_read(device const Outer* x [[buffer(0)]], device Outer* y [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = x[t]; }

struct Vectors { float4 a; float4 b; };
kernel void vectors(device Vectors* y [[buffer(0)]], constant Vectors& s [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = s; }
kernel void vectors_changed(device Vectors* y [[buffer(0)]], constant Vectors& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  Vectors p = s;
  float d = 10 * t;
  p.a += d; p.b += d;
  y[t] = p;
}
kernel void vectors_shared(device Vectors* y [[buffer(0)]], constant Vectors& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  threadgroup Vectors shared[2];
  shared[t] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = shared[1 - t];
}
kernel void vectors_read(device const Vectors* x [[buffer(0)]], device Vectors* y [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = x[t]; }

struct Three { float3 a; };
kernel void three(device Three* y [[buffer(0)]], constant Three& s [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = s; }
kernel void three_changed(device Three* y [[buffer(0)]], constant Three& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  Three p = s;
  float d = 10 * t;
  p.a += d;
  y[t] = p;
}
kernel void three_shared(device Three* y [[buffer(0)]], constant Three& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  threadgroup Three shared[2];
  shared[t] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = shared[1 - t];
}
kernel void three_read(device const Three* x [[buffer(0)]], device Three* y [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = x[t]; }

struct Threes { float3 a[2]; };
kernel void threes(device Threes* y [[buffer(0)]], constant Threes& s [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = s; }
kernel void threes_changed(device Threes* y [[buffer(0)]], constant Threes& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  Threes p = s;
  float d = 10 * t;
  p.a[0] += d; p.a[1] += d;
  y[t] = p;
}
kernel void threes_shared(device Threes* y [[buffer(0)]], constant Threes& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  threadgroup Threes shared[2];
  shared[t] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = shared[1 - t];
}
kernel void threes_read(device const Threes* x [[buffer(0)]], device Threes* y [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = x[t]; }

struct Packed { packed_float3 a[2]; };
kernel void packed(device Packed* y [[buffer(0)]], constant Packed& s [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = s; }
kernel void packed_changed(device Packed* y [[buffer(0)]], constant Packed& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  Packed p = s;
  float d = 10 * t;
  p.a[0] = float3(p.a[0]) + d; p.a[1] = float3(p.a[1]) + d;
  y[t] = p;
}
kernel void packed_shared(device Packed* y [[buffer(0)]], constant Packed& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  threadgroup Packed shared[2];
  shared[t] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = shared[1 - t];
}
kernel void packed_read(device const Packed* x [[buffer(0)]], device Packed* y [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = x[t]; }

struct Mixed { float4 a; float b; };
kernel void mixed(device Mixed* y [[buffer(0)]], constant Mixed& s [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = s; }
kernel void mixed_changed(device Mixed* y [[buffer(0)]], constant Mixed& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  Mixed p = s;
  float d = 10 * t;
  p.a += d; p.b += d;
  y[t] = p;
}
kernel void mixed_shared(device Mixed* y [[buffer(0)]], constant Mixed& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  threadgroup Mixed shared[2];
  shared[t] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = shared[1 - t];
}
kernel void mixed_read(device const Mixed* x [[buffer(0)]], device Mixed* y [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = x[t]; }

kernel void columns2(device float2x2* y [[buffer(0)]], constant float2x2& s [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = s; }
kernel void columns2_changed(device float2x2* y [[buffer(0)]], constant float2x2& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  float2x2 p = s;
  float d = 10 * t;
  for (uint k = 0; k < 2; k++) p[k] += d;
  y[t] = p;
}
kernel void columns2_shared(device float2x2* y [[buffer(0)]], constant float2x2& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  threadgroup float2x2 shared[2];
  shared[t] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = shared[1 - t];
}
kernel void columns2_read(device const float2x2* x [[buffer(0)]], device float2x2* y [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = x[t]; }

kernel void columns3(device float3x3* y [[buffer(0)]], constant float3x3& s [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = s; }
kernel void columns3_changed(device float3x3* y [[buffer(0)]], constant float3x3& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  float3x3 p = s;
  float d = 10 * t;
  for (uint k = 0; k < 3; k++) p[k] += d;
  y[t] = p;
}
kernel void columns3_shared(device float3x3* y [[buffer(0)]], constant float3x3& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  threadgroup float3x3 shared[2];
  shared[t] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = shared[1 - t];
}
kernel void columns3_read(device const float3x3* x [[buffer(0)]], device float3x3* y [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = x[t]; }

kernel void columns4(device float4x4* y [[buffer(0)]], constant float4x4& s [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = s; }
kernel void columns4_changed(device float4x4* y [[buffer(0)]], constant float4x4& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  float4x4 p = s;
  float d = 10 * t;
  for (uint k = 0; k < 4; k++) p[k] += d;
  y[t] = p;
}
kernel void columns4_shared(device float4x4* y [[buffer(0)]], constant float4x4& s [[buffer(1)]], uint t [[thread_position_in_grid]]) {
  threadgroup float4x4 shared[2];
  shared[t] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = shared[1 - t];
}
kernel void columns4_read(device const float4x4* x [[buffer(0)]], device float4x4* y [[buffer(1)]], uint t [[thread_position_in_grid]]) { y[t] = x[t]; }
