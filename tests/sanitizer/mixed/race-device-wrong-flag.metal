// The barrier orders threadgroup memory only; the exchange is in device memory.
// launch: --threads 128 --group 64 --arg x=iota:f32:128

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  x[i] = float(l); //~ race-threadgroup 1
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float v = x[i ^ 32]; //~ race-threadgroup 2
  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
  x[i] = v;
}
