// Each pair is swapped by one thread.
// launch: --threads 64 --group 16 --arg x=iota:f32:64
// expect: none

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  uint row = i / 8, col = i % 8;
  if (row < col) {
    float a = x[row * 8 + col];
    x[row * 8 + col] = x[col * 8 + row];
    x[col * 8 + row] = a;
  }
}
