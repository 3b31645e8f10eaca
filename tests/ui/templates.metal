// Errors in templates tell how they were instantiated.
#include <metal_stdlib>
using namespace metal;

template <typename T>
T first(T value) { return value.first; } //~ no-members

template <typename T>
T second(T value) { return first(value); }

kernel void instantiate(device float* x [[buffer(0)]])
{
    x[0] = second(x[0]);
}

kernel void pack_of_nothing(device float* out, uint... i [[thread_position_in_grid]]) { out[0] = 1; } //~ not-a-pack
