// Addresses that kernels write: of an argument, of a loaded pointer, in a structure, as integers.
//! kernel: link
//! threads: 2
//! group: 2
//! arg 0: u64 0*12
//! arg 1: f32 1 2 3 4 5
//! arg 2: f32 5 6 7
//! pointer 0: 0 to 2
//! pointer 0: 48 to 2+4
//! expect 0: u64 0xadd0000200000000 0xadd0000100000004 0xadd0000200000004 0xadd0000100000008 7 0xadd0000000000030 0xadd0000200000004 0xadd0000100000008 0xadd0000200000008 0xadd0000100000010 8 0xadd0000000000030
//! expect 1: f32 1 2 3 4
#include <metal_stdlib>
using namespace metal;

struct Links {
  device float* given;
  device float* own;
  device float* moved;
  ulong number;
  ulong value;
  device const Links* last;
};

kernel void link(device Links* links [[buffer(0)]], device float* x [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
  device float* given = links[i].given;
  Links made = { given, x + i + 1, given + 1, (ulong)(x + 2 * (i + 1)), 7 + i, links + 1 };
  links[i] = made;
}
