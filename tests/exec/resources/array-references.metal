// `array_ref`: functions that take arrays of any length, of the kernel's arguments and of argument buffers.
//! covers: MSL 2.12
//! oracle: exact
//! kernel: of_arguments
//! arg 0: f32 0*4
//! texture 0: r32float 1,1 f32 1
//! texture 1: r32float 1,1 f32 2
//! texture 2: r32float 1,1 f32 4
//! texture 3: r32float 1,1 f32 8
//! texture 4: r32float 1,1 f32 16
//! expect 0: f32 3 28 12 0

#include <metal_stdlib>
using namespace metal;

float sum(array_ref<texture2d<float>> from)
{
    float total = 0;
    for (uint i = 0; i < from.size(); i++) total += from[i].read(uint2(0)).x;
    return total;
}

float sampled(array_ref<texture2d<float>> from, array_ref<sampler> samplers)
{
    return samplers.empty() ? 0 : from[1].sample(samplers[1], float2(0.5f)).x;
}

constexpr constant array<sampler, 2> samplers = {sampler(address::clamp_to_zero), sampler(coord::pixel)};

kernel void of_arguments(const array<texture2d<float>, 2> two [[texture(0)]],
                         const array<texture2d<float>, 3> three [[texture(2)]], device float* out [[buffer(0)]])
{
    out[0] = sum(two);
    out[1] = sum(three);
    out[2] = sum(make_array_ref(three.data(), 2));
    out[3] = sampled(two, array_ref<sampler>());
}
