// A float4 write covers what another lane reads.
// launch: --threads 32 --group 32 --arg x=zeros:f32:256 --arg y=zeros:f32:64

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], device float* y [[buffer(1)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  ((device float4*)x)[i] = float4(1.0f + float(i)); //~ race-simdgroup 1
  y[i] = x[(i * 4 + 5) % 128]; //~ race-simdgroup 2
}
