// The same without clearing: the atomics read what nobody wrote.
// launch: --threads 128 --group 64 --arg x=iota:f32:128 --arg c=zeros:u32:128

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], device atomic_uint* c [[buffer(1)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup atomic_uint h[16];
  atomic_fetch_add_explicit(h + l % 16, 1u, memory_order_relaxed); //~ uninitialised-threadgroup
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (l < 16) {
    atomic_fetch_add_explicit(c + l, atomic_load_explicit(h + l, memory_order_relaxed), memory_order_relaxed);
  }
}
