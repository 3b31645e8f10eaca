#include <metal_stdlib>
using namespace metal;

kernel void widen(device const bfloat* x, device float* y, uint i [[thread_position_in_grid]])
{
    y[i] = float(x[i]);
}

// Bits alone are no numbers.
kernel void bits(device const ushort* x, device float* y, uint i [[thread_position_in_grid]])
{
    y[i] = as_type<float>(uint(x[i]) << 16);
}
