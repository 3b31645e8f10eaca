#include <metal_stdlib>
using namespace metal;

kernel void reduce(device float* y, uint i [[thread_position_in_grid]])
{
    float sum = y[i];
    sum += simd_shuffle_xor(sum, 1);
    y[i] = simd_sum(sum) + simd_max(sum);
}

kernel void vote(device uint* y, uint i [[thread_position_in_grid]])
{
    if (simd_any(y[i] > 3)) y[i] = uint(ulong(simd_vote::vote_t(simd_ballot(y[i] > 1))));
}

kernel void stencil(device float* y, uint i [[thread_position_in_grid]])
{
    y[i] = simd_shuffle_and_fill_up(y[i], 0.0f, 1);
}

// In a function of the program, and through a macro.
#define NEXT(x) simd_broadcast_first(x)
float inner(float x) { return NEXT(x); }
kernel void called(device float* y, uint i [[thread_position_in_grid]]) { y[i] = inner(y[i]); }
