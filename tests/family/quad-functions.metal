#include <metal_stdlib>
using namespace metal;

// Made of SIMD-group operations in the library, and still quad-group functions.
kernel void permute(device float* y, uint i [[thread_position_in_grid]])
{
    y[i] = quad_shuffle(y[i], 1) + quad_shuffle_rotate_up(y[i], 1) + quad_broadcast_first(y[i]);
}

kernel void reduce(device float* y, uint i [[thread_position_in_grid]])
{
    y[i] = quad_all(y[i] > 0.0f) ? quad_sum(y[i]) : 0.0f;
}

kernel void bits(device uint* y, uint i [[thread_position_in_grid]]) { y[i] = quad_or(y[i]); }

kernel void fill(device float* y, uint i [[thread_position_in_grid]])
{
    y[i] = quad_shuffle_and_fill_down(y[i], 1.0f, 1);
}

// A function of the program with such a name is its own.
float quad_thing(float x) { return x + 1.0f; }
kernel void own(device float* y, uint i [[thread_position_in_grid]]) { y[i] = quad_thing(y[i]); }
