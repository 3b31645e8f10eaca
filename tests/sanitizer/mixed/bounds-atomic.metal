// An atomic past the end.
// launch: --threads 128 --group 64 --arg x=iota:f32:128 --arg c=zeros:u32:128

#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], device atomic_uint* c [[buffer(1)]], uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  atomic_fetch_add_explicit(c + i + 1, 1u, memory_order_relaxed); //~ out-of-bounds
}
