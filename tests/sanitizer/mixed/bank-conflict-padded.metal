// Rows of 33 words.
// launch: --threads 32 --group 32 --arg x=iota:f32:32
// options: --enable bank-conflict
// expect: none

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup float t[32][33];
  t[lane][0] = x[i];
  simdgroup_barrier(mem_flags::mem_threadgroup);
  x[i] = t[lane][0] + 1.0f;
}
