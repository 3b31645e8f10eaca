// A packed type may be anywhere.
// launch: --threads 16 --group 16 --arg x=iota:f32:64 --arg y=zeros:f32:16
// expect: none

#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  y[i] = (*(device const packed_float4*)(x + i)).x;
}
