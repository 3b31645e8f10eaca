// Neighbouring halves are different memory.
// launch: --threads 64 --group 64 --arg b=zeros:f16:64
// expect: none

#include <metal_stdlib>
using namespace metal;

kernel void k(device half* b [[buffer(0)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  b[i] = half(i);
}
