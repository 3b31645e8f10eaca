// <metal_atomic>: every operation in both spaces, and the fence.
#include <metal_stdlib>
using namespace metal;

#define IS(T, E) { static_assert(is_same_v<decltype(E), T>, #E); T r = E; (void)r; }
constexpr constant memory_order R = memory_order_relaxed;

template <typename A, typename T> void numbers(A object, T x) {
  IS(T, atomic_load_explicit(object, R)) IS(T, atomic_exchange_explicit(object, x, R))
  IS(T, atomic_fetch_add_explicit(object, x, R)) IS(T, atomic_fetch_sub_explicit(object, x, R))
  atomic_store_explicit(object, x, R);
  atomic_store_explicit(object, 0, R);
  T expected = x;
  IS(bool, atomic_compare_exchange_weak_explicit(object, &expected, x, R, R))
}
template <typename A, typename T> void integers(A object, T x) {
  numbers(object, x);
  IS(T, atomic_fetch_and_explicit(object, x, R)) IS(T, atomic_fetch_or_explicit(object, x, R)) IS(T, atomic_fetch_xor_explicit(object, x, R))
  IS(T, atomic_fetch_min_explicit(object, x, R)) IS(T, atomic_fetch_max_explicit(object, x, R)) IS(T, atomic_fetch_add_explicit(object, 1, R))
}

struct Counters { atomic_uint hits[2]; atomic_int level; };

kernel void operations(device atomic_uint* u [[buffer(0)]], volatile device atomic_int* i [[buffer(1)]],
                       device atomic<float>* f [[buffer(2)]], device atomic_ulong* l [[buffer(3)]],
                       device Counters& counters [[buffer(4)]], threadgroup atomic_uint* shared [[threadgroup(0)]]) {
  integers(u, 1u);
  integers(i, 1);
  integers(shared, 1u);
  integers(&counters.hits[1], 1u);
  integers(&counters.level, 1);
  numbers(f, 1.0f);
  atomic_max_explicit(l, 5ul, memory_order_relaxed);
  atomic_min_explicit(l, 5, memory_order_relaxed);
  threadgroup atomic_int own;
  integers(&own, 3);
  threadgroup atomic_bool flag;
  atomic_store_explicit(&flag, true, memory_order_relaxed);
  IS(bool, atomic_load_explicit(&flag, memory_order_relaxed))
}

kernel void loads_of_const(const device atomic_uint* u [[buffer(0)]], device uint* out [[buffer(1)]]) {
  out[0] = atomic_load_explicit(u, memory_order_relaxed);
}

kernel void synchronisation(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  threadgroup_barrier(mem_flags::mem_none);
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  threadgroup_barrier(mem_flags::mem_threadgroup, thread_scope_threadgroup);
  simdgroup_barrier(mem_flags::mem_threadgroup);
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst);
  out[i] = uint(mem_flags::mem_texture & mem_flags::mem_device);
}
