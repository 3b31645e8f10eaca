// Linked lists, each in two buffers; a list of none. The last thread compares addresses.
//! covers: MSL 2.13
//! kernel: sum
//! threads: 4
//! group: 4
//! arg 0: u64 0*4
//! arg 1: u64 0 1 0 2 0 3
//! arg 2: u64 0 10 0 20
//! arg 3: i32 -1*4
//! arg 4: u32 -1*4
//! pointer 0: 0 to 1
//! pointer 0: 8 to 2+16
//! pointer 0: 24 to 1+32
//! pointer 1: 0 to 2
//! pointer 2: 0 to 1+16
//! pointer 2: 16 to 1+32
//! expect 3: i32 13 23 0 3
//! expect 4: u32 0 2 1 2
#include <metal_stdlib>
using namespace metal;

struct Node {
  device const Node* next;
  int value;
};

kernel void sum(device const Node* constant* heads [[buffer(0)]], device const Node* first [[buffer(1)]],
                device int* out [[buffer(3)]], device uint* same [[buffer(4)]],
                uint i [[thread_position_in_grid]]) {
  int total = 0;
  for (device const Node* node = heads[i]; node != nullptr; node = node->next) total += node->value;
  out[i] = total;
  // One buffer, by an argument and by an address.
  same[i] = heads[i] == nullptr ? 1 : heads[i] == first ? 0 : 2;
}
