// Threadgroup memory that is an argument: each thread of a square has an element of its own, without a barrier.
//! kernel: own
//! threads: 32,16
//! group: 16,16
//! arg 0: u32 0*512
//! threadgroup 0: 1024
//! expect 0: u32 0..512
#include <metal_stdlib>
using namespace metal;

kernel void own(device uint* out [[buffer(0)]], threadgroup uint* slots [[threadgroup(0)]],
                uint2 p [[thread_position_in_grid]]) {
  volatile threadgroup uint* own = slots + p.x % 16 + 16 * (p.y % 16);
  uint number = p.x + 32 * p.y;
  *own = number;
  out[number] = *own;
}
