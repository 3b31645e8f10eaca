// The same without fences.
// launch: --threads 128 --group 64 --arg x=iota:f32:128 --arg c=zeros:u32:4

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], device atomic_uint* c [[buffer(1)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup bool last;
  x[i] = float(i); //~ race-grid a1 //~ race-grid b1
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  if (l == 0) {
    last = atomic_fetch_add_explicit(c, 1u, memory_order_relaxed) == 1u;
  }
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  if (last && l == 0) {
    float sum = 0.0f;
    for (uint n = 0; n < 128; n++) {
      sum += x[n]; //~ race-grid a2
    }
    x[0] = sum; //~ race-grid b2
  }
}
