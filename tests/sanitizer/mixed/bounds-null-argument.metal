// Nothing is bound.
// launch: --threads 64 --group 64 --arg x=iota:f32:64 --arg w=none

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], device const float* w [[buffer(1)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  x[i] = w[0]; //~ null-access
}
