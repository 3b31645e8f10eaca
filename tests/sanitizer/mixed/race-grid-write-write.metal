// Threadgroups write to the same elements.
// launch: --threads 128 --group 64 --arg x=iota:f32:128

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  x[l] = float(g) + 1.0f; //~ race-grid 12
}
