// A matrix function that half of the SIMD-group executes.
// launch: --threads 32 --group 32 --arg x=iota:f32:64

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  if (lane < 16) {
    simdgroup_float8x8 m;
    simdgroup_load(m, x); //~ divergent-simdgroup
    simdgroup_store(m, x); //~ divergent-simdgroup
  }
}
