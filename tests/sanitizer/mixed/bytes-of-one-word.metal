// Neighbouring bytes of one word are different memory.
// launch: --threads 64 --group 64 --arg b=zeros:u8:64
// expect: none

#include <metal_stdlib>
using namespace metal;

kernel void k(device uchar* b [[buffer(0)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  b[i] = uchar(i);
}
