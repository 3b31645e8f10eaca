// The lock without fences does not protect.
// launch: --threads 128 --group 64 --arg x=iota:f32:128 --arg c=zeros:u32:4

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], device atomic_uint* c [[buffer(1)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  if (l == 0) {
    uint expected = 0u;
    while (!atomic_compare_exchange_weak_explicit(c, &expected, 1u, memory_order_relaxed, memory_order_relaxed)) {
      expected = 0u;
    }
    x[0] += 1.0f; //~ race-grid a12 //~ race-grid b12
    atomic_store_explicit(c, 0u, memory_order_relaxed);
  }
}
