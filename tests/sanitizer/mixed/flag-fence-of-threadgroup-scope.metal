// The writer's fence does not reach other threadgroups.
// launch: --threads 128 --group 64 --arg x=iota:f32:128 --arg c=zeros:u32:4

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], device atomic_uint* c [[buffer(1)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  if (i == 0) {
    x[5] = 1.0f; //~ race-grid 1
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_threadgroup);
    atomic_store_explicit(c, 1u, memory_order_relaxed);
  }
  if (g == 1 && l == 0) {
    while (atomic_load_explicit(c, memory_order_relaxed) == 0u) {
    }
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    x[64] = x[5]; //~ race-grid 2
  }
}
