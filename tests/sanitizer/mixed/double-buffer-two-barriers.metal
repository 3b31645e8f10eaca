// Ping-pong with two tiles and one barrier each step.
// launch: --threads 128 --group 64 --arg x=iota:f32:128 --arg y=zeros:f32:128
// expect: none

#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup float t[2][64];
  t[0][l] = x[i];
  for (uint n = 0; n < 6; n++) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    t[(n + 1) % 2][l] = t[n % 2][(l + 1) % 64] + 1.0f;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = t[0][l];
}
