// An in-place transpose: pairs are written by two threadgroups.
// launch: --threads 64 --group 16 --arg x=iota:f32:64

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  uint row = i / 8;
  float v = x[(i % 8) * 8 + row]; //~ race-simdgroup a1 //~ race-grid 2
  x[i] = v; //~ race-simdgroup a2 //~ race-grid 1
}
