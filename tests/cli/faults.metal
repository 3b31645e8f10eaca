// Kernels that do what they must not.
#include <metal_stdlib>
using namespace metal;

kernel void past_the_end(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                         uint i [[thread_position_in_grid]])
{
    out[i + 7] = in[i];
}

kernel void endless(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    uint n = i;
    while (true) {
        n = n * 1664525u + 1013904223u;
        out[0] = n;
    }
}
