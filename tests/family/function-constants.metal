#include <metal_stdlib>
using namespace metal;

constant bool fast [[function_constant(0)]];

// What is off is not compiled.
kernel void sum(device float* y, uint i [[thread_position_in_grid]])
{
    float x = y[i];
    if (fast) {
        x = simd_sum(x);
    }
    y[i] = x;
}
