// Integer minima and maxima of a quad count its active threads, not those that are inactive or do not exist.
//! kernel: least
//! arg 0: u32 0*6
//! expect 0: u32 0 11 11 11 14 14
//! threads: 6
//! group: 6
//! kernel: greatest
//! arg 0: i32 0*6
//! expect 0: i32 -1 -1 0 -3 -5 -5
//! threads: 6
//! group: 6
#include <metal_stdlib>
using namespace metal;

kernel void least(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  if (i > 0) out[i] = quad_min(i + 10);
}

kernel void greatest(device int* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  if (i != 2) out[i] = quad_max(-1 - int(i));
  if (i == 3) out[i] = quad_max(short(-3));
}
