// A loop of compare and exchange adds floats.
//! covers: MSL 2.6, MSL 6.15
//! kernel: add
//! threads: 64
//! group: 32
//! arg 0: f32 0
//! expect 0: f32 64

#include <metal_stdlib>
using namespace metal;

kernel void add(device atomic_uint* sum, uint i [[thread_position_in_grid]]) {
    uint expected = atomic_load_explicit(sum, memory_order_relaxed);
    uint desired;
    do {
        desired = as_type<uint>(as_type<float>(expected) + 1.0f);
    } while (!atomic_compare_exchange_weak_explicit(sum, &expected, desired, memory_order_relaxed,
                                                    memory_order_relaxed));
}
