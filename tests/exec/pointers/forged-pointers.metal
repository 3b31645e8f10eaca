// Data are not pointers: bits that are loaded or converted lead to the resident buffer that contains that address,
// with the access that its binding allows, or nowhere.
//! faults: yes
//! threads: 1
//! arg 0: i32 0*4
//! arg 1: i32 1 2 3 4
//! expect 0: i32 0*4
//! expect 1: i32 1 2 3 4

// Numbers of allocations as executors keep them.
//! kernel: from_buffer
//! arg 2: u64 0x0002800000000000
//! kernel: from_buffer
//! arg 2: u64 0x0001800000000000
//! kernel: from_buffer
//! arg 2: u64 0x0003800000000000
//! kernel: from_buffer
//! arg 2: u64 0x0005800000000000
//! kernel: from_buffer
//! arg 2: u64 0xffff800000000000
//! kernel: from_integer
//! arg 2: u64 0x0002800000000000
//! kernel: from_threadgroup
//! arg 2: u64 0x0002800000000000
//! kernel: from_thread
//! arg 2: u64 0x0002800000000000
//! kernel: from_bytes
//! arg 2: u64 0x0002800000000000
//! kernel: in_parts
//! arg 2: u64 0x0002800000000000
//! kernel: overrun
//! arg 2: u64 0x0002800000000000
//! kernel: in_a_union
//! arg 2: u64 0x0002800000000000
//! kernel: to_constant
//! arg 2: u64 0x0002800000000000
//! kernel: to_threadgroup
//! arg 2: u64 0x0002800000000000

// The true address of what was given as `const`.
//! kernel: from_buffer
//! arg 2: u64 0*4
//! pointer 2: 0 to 1
//! kernel: from_integer
//! arg 2: u64 0*4
//! pointer 2: 0 to 1
//! kernel: from_threadgroup
//! arg 2: u64 0*4
//! pointer 2: 0 to 1
//! kernel: own_address
//! arg 2: u64 0*4
//! kernel: own_address_in_memory
//! arg 2: u64 0*4
//! kernel: in_parts
//! arg 2: u64 0*4
//! pointer 2: 0 to 1
//! kernel: atomics
//! arg 2: u64 0*4
//! pointer 2: 0 to 1
//! kernel: copies
//! arg 2: u64 0*4
//! pointer 2: 0 to 1
//! kernel: in_lanes
//! arg 2: u64 0*4
//! threads: 32
//! group: 32
//! pointer 2: 0 to 1

// Constant data is not written, whatever its address is taken for.
//! kernel: constant_data
//! arg 2: u64 0*4
//! kernel: constant_data_in_memory
//! arg 2: u64 0*4
//! kernel: constant_argument
//! arg 2: u64 0*4

#include <metal_stdlib>
using namespace metal;

constant int table[4] = {1, 2, 3, 4};
struct Wide { int words[4]; };
union Bits { ulong bits; device int* pointer; };
struct Slot { device int* pointer; int numbers[4]; };

#define ARGS device int* y [[buffer(0)]], device const int* ro [[buffer(1)]], device ulong* words [[buffer(2)]]

kernel void from_buffer(ARGS) { device int* p = *(device int* device*)words; p[0] = 7; }
kernel void from_integer(ARGS) { device int* p = (device int*)words[0]; p[1] = 7; }
kernel void from_threadgroup(ARGS, uint t [[thread_index_in_threadgroup]]) {
  threadgroup ulong kept[4];
  kept[t & 3] = words[0];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  device int* p = *(device int* threadgroup*)kept;
  p[0] = 7;
}
kernel void from_thread(ARGS, uint t [[thread_index_in_threadgroup]]) {
  ulong kept[4] = {words[0], words[0], words[0], words[0]};
  device int* p = *(device int* thread*)&kept[t & 3];
  p[0] = 7;
}
kernel void from_bytes(ARGS, uint t [[thread_index_in_threadgroup]]) {
  device int* kept[2] = {y, y};
  thread uchar* bytes = (thread uchar*)kept;
  for (uint i = 0; i < 8; i++) bytes[8 * (t & 1) + i] = uchar(words[0] >> (8 * i));
  kept[t & 1][0] = 7;
}
kernel void in_parts(ARGS, uint t [[thread_index_in_threadgroup]]) {
  device int* kept[2] = {y, y};
  thread uint* halves = (thread uint*)&kept[t & 1];
  halves[0] = uint(words[0]);
  halves[1] = uint(words[0] >> 32);
  kept[t & 1][0] = 7;
}
// A store beyond an array, within its object, reaches the pointer before it.
kernel void overrun(ARGS, uint t [[thread_index_in_threadgroup]]) {
  Slot slot[2] = {{y, {0, 0, 0, 0}}, {y, {0, 0, 0, 0}}};
  thread int* numbers = (thread int*)slot;
  numbers[6 * (t & 1)] = int(words[0]);
  numbers[6 * (t & 1) + 1] = int(words[0] >> 32);
  slot[t & 1].pointer[0] = 7;
}
kernel void in_a_union(ARGS) { Bits b; b.bits = words[0]; b.pointer[0] = 7; }
// Reading is allowed nowhere either.
kernel void to_constant(ARGS) { constant int* p = (constant int*)words[0]; y[0] = p[0]; }
kernel void to_threadgroup(ARGS) {
  threadgroup int t[4];
  t[0] = 0;
  threadgroup int* p = *(threadgroup int* device*)words;
  p[0] = 7;
  y[0] = t[0];
}
kernel void own_address(ARGS) { ulong a = (ulong)ro; a ^= words[0]; ((device int*)a)[0] = 7; }
kernel void own_address_in_memory(ARGS) {
  words[0] = (ulong)ro;
  device int* p = *(device int* device*)words;
  p[0] = 7;
}
kernel void atomics(ARGS) {
  atomic_store_explicit((device atomic_int*)words[0], 7, memory_order_relaxed);
}
kernel void copies(ARGS) { *(device Wide*)words[0] = Wide{{7, 7, 7, 7}}; }
kernel void in_lanes(ARGS, uint t [[thread_index_in_threadgroup]]) {
  device int* p = (device int*)(words[0] + 4 * (t & 3));
  p[0] = 7;
}
kernel void constant_data(ARGS) { ulong a = (ulong)(constant int*)table + words[0]; ((device int*)a)[0] = 7; y[0] = table[0] - 1; }
kernel void constant_data_in_memory(ARGS) {
  words[0] = (ulong)(constant int*)table;
  device int* p = *(device int* device*)words;
  p[0] = 7;
}
kernel void constant_argument(device int* y [[buffer(0)]], constant int* ro [[buffer(1)]], device ulong* words [[buffer(2)]]) {
  ulong a = (ulong)ro + words[0];
  ((device int*)a)[0] = 7;
}
