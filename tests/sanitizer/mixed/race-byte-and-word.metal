// A byte of a word that another SIMD-group reads.
// launch: --threads 64 --group 64 --arg b=zeros:u8:256 --arg y=zeros:u32:64

#include <metal_stdlib>
using namespace metal;

kernel void k(device uchar* b [[buffer(0)]], device uint* y [[buffer(1)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  b[i * 4 + 1] = uchar(i); //~ race-threadgroup 2
  y[i] = ((device uint*)b)[i ^ 32]; //~ race-threadgroup 1
}
