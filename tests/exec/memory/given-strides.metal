// Strides that the program is given: 1 makes the access contiguous, anything else must not.
//! kernel: gather
//! threads: 70
//! group: 64
//! arg 0: u32 0..300
//! arg 1: u32 0*70
//! arg 2: u32 1 7
//! expect 1: u32 7..77
//! kernel: gather
//! threads: 70
//! group: 64
//! arg 0: u32 0..300
//! arg 1: u32 0*70
//! arg 2: u32 3 2
//! expect 1: u32 2..212..3
//! kernel: gather
//! threads: 70
//! group: 64
//! arg 0: u32 0..300
//! arg 1: u32 0*70
//! arg 2: u32 0 5
//! expect 1: u32 5*70
//! kernel: scatter
//! threads: 70
//! group: 64
//! arg 0: u32 0..70
//! arg 1: u32 9*140
//! arg 2: u32 2 1
//! expect 1: u32 9 0 9 1 9 2 9 3 9 4 9 5
//! kernel: scatter
//! threads: 70
//! group: 64
//! arg 0: u32 0..70
//! arg 1: u32 9*71
//! arg 2: u32 1 1
//! expect 1: u32 9 0..70
//! kernel: rows
//! threads: 16,8
//! group: 8,8
//! arg 0: u32 0..400
//! arg 1: u32 0*128
//! arg 2: u32 1 16
//! expect 1: u32 0..128
//! kernel: rows
//! threads: 16,8
//! group: 8,8
//! arg 0: u32 0..400
//! arg 1: u32 0*128
//! arg 2: u32 2 48
//! expect 1: u32 0..32..2 48..80..2 96..128..2
//! kernel: past_the_end
//! faults: yes
//! threads: 70
//! group: 64
//! arg 0: u32 1..41
//! arg 1: u32 7*70
//! arg 2: u32 1 0
//! expect 1: u32 1..41 0*30
#include <metal_stdlib>
using namespace metal;

kernel void gather(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]],
                   constant uint2& s [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  out[i] = in[size_t(i) * s.x + s.y];
}

kernel void scatter(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]],
                    constant uint2& s [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  out[s.x * i + s.y] = in[i];
}

kernel void rows(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]],
                 constant uint2& s [[buffer(2)]], uint2 i [[thread_position_in_grid]]) {
  out[i.y * 16 + i.x] = in[i.x * s.x + i.y * s.y];
}

kernel void past_the_end(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]],
                         constant uint2& s [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  uint product = i * s.x;
  out[i] = in[product] * (product == i ? 1 : 100);
}
