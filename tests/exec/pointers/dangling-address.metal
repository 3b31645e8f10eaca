// An address in no buffer: loads give zero, stores go nowhere, the launch fails.
//! kernel: follow
//! faults: yes
//! threads: 2
//! arg 0: u64 0x123450 0
//! arg 1: f32 -1 -1
//! arg 2: f32 4 5
//! pointer 0: 8 to 2+4
//! expect 1: f32 0 5
#include <metal_stdlib>
using namespace metal;

kernel void follow(device const float* constant* tables [[buffer(0)]], device float* out [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
  out[i] = tables[i][0];
}
