// The error is in a function that is called at two places.
// launch: --threads 128 --group 64 --arg x=iota:f32:128 --arg y=zeros:f32:128

#include <metal_stdlib>
using namespace metal;

float at(device const float* x, uint n) {
  return x[n]; //~ out-of-bounds
}

kernel void k(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  y[i] = at(x, i) + at(x, i + 1);
}
