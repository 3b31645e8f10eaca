// Additions of floats.
//! covers: MSL 2.6, MSL 6.15
//! kernel: add
//! threads: 40
//! group: 8
//! arg 0: f32 0.5
//! expect 0: f32 20.5

#include <metal_stdlib>
using namespace metal;

kernel void add(device atomic_float* sum) {
    atomic_fetch_add_explicit(sum, 0.5f, memory_order_relaxed);
}
