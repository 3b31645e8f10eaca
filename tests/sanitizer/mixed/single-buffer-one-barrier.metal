// One tile, one barrier each step: a write overtakes a read.
// launch: --threads 128 --group 64 --arg x=iota:f32:128 --arg y=zeros:f32:128

#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup float t[64];
  t[l] = x[i];
  for (uint n = 0; n < 6; n++) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v = t[(l + 32) % 64]; //~ race-threadgroup 2
    t[l] = v + 1.0f; //~ race-threadgroup 1
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = t[l];
}
