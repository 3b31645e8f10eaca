// Between barriers only some threads have something to do: a prefix, one thread, one SIMD-group, none.
//! covers: MSL 6.9.1
//! arg 0: u32 0*8
//! kernel: few
//! threads: 128
//! group: 128
//! arg 1: u32 40 100 2
//! expect 0: u32 780 100 2 3 64 0 0 0
//! kernel: few
//! threads: 128
//! group: 128
//! arg 1: u32 0 128 4
//! expect 0: u32 0 0 0 0 0 0 0 0
//! kernel: few
//! threads: 128
//! group: 128
//! arg 1: u32 0xffffffff 0xffffffff 0xffffffff
//! expect 0: u32 8128 0 0 0 0 0 0 0
//! kernel: few
//! threads: 70
//! group: 70
//! arg 1: u32 69 69 2
//! expect 0: u32 2346 69 2 3 64 0 0 0

#include <metal_stdlib>
using namespace metal;

kernel void few(device atomic_uint* out, constant uint* limits, uint t [[thread_index_in_threadgroup]],
                uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint numbers[128];
    numbers[t] = t;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < limits[0]) atomic_fetch_add_explicit(&out[0], numbers[t], memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == limits[1]) atomic_fetch_add_explicit(&out[1], numbers[t], memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == limits[2] && t % 32 == 0) {
        atomic_store_explicit(&out[2], simdgroup, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == limits[2]) {
        atomic_fetch_max_explicit(&out[3], simdgroup + 1, memory_order_relaxed);
        atomic_fetch_max_explicit(&out[4], t & ~31u, memory_order_relaxed);
    }
}
