// A loaded pointer keeps its buffer: what is beyond the end of it is beyond the end of anything.
//! kernel: follow
//! faults: yes
//! threads: 2
//! arg 0: u64 0*2
//! arg 1: f32 -1 -1
//! arg 2: f32 4 5
//! arg 3: f32 6 7
//! pointer 0: 0 to 2
//! pointer 0: 8 to 3
//! expect 1: f32 0 7
#include <metal_stdlib>
using namespace metal;

kernel void follow(device const float* constant* tables [[buffer(0)]], device float* out [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
  out[i] = tables[i][i == 0 ? 1024 : 1];
}
