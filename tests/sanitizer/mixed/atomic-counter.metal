// Atomics never race with each other.
// launch: --threads 128 --group 64 --arg x=iota:f32:128 --arg c=zeros:u32:128
// expect: none

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], device atomic_uint* c [[buffer(1)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  atomic_fetch_add_explicit(c, 1u, memory_order_relaxed);
  atomic_fetch_max_explicit(c + 1, i, memory_order_relaxed);
  atomic_fetch_min_explicit(c + 2, i, memory_order_relaxed);
  atomic_fetch_or_explicit(c + 3, i, memory_order_relaxed);
  atomic_fetch_and_explicit(c + 4, i, memory_order_relaxed);
  atomic_fetch_xor_explicit(c + 5, i, memory_order_relaxed);
  atomic_exchange_explicit(c + 6, i, memory_order_relaxed);
  atomic_store_explicit(c + 7, i, memory_order_relaxed);
  x[i] = float(atomic_load_explicit(c + 7, memory_order_relaxed));
}
