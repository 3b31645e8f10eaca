#include <metal_stdlib>
using namespace metal;

kernel void add(device atomic_float* sum, device const float* x, uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(sum, x[i], memory_order_relaxed);
}

kernel void largest(device atomic_ulong* most, device const ulong* x, uint i [[thread_position_in_grid]])
{
    atomic_max_explicit(most, x[i], memory_order_relaxed);
}

kernel void read(device atomic_float* x, device float* y) { y[0] = atomic_load_explicit(x, memory_order_relaxed); }
