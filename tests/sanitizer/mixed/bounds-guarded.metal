// A guard keeps the last partial threadgroup inside.
// launch: --threads 128 --group 64 --arg x=iota:f32:100
// expect: none

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  if (i < 100) {
    x[i] = 1.0f;
  }
}
