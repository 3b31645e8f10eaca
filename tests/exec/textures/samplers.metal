// Samplers of a program: address modes, filters, coordinates in texels, offsets, gathering and comparison.
//! covers: MSL 2.10, MSL 6.12
//! oracle: exact
//! kernel: addresses
//! threads: 6
//! group: 6
//! texture 0: r32float 4,2 f32 10 20 30 40 50 60 70 80
//! arg 0: f32 -1.125 -0.125 0.125 0.875 1.125 1.875
//! arg 1: f32 0*30
//! expect 1: f32 10 10 10 40 40 40 40 40 10 40 10 40 40 10 10 40 40 10 0 0 10 40 0 0 1 1 10 40 1 1
//! kernel: filters
//! texture 0: r32float 4,2 f32 10 20 30 40 50 60 70 80
//! arg 0: f32 0*14
//! expect 0: f32 15 35 10 15 70 35 20 60 60 70 30 20 20 40
//! kernel: comparisons
//! threads: 2
//! group: 2
//! texture 0: depth32float 2,1 f32 0.25 0.75
//! arg 0: f32 0*8
//! expect 0: f32 0.25 0.75 0 1 1 0 1 0

#include <metal_stdlib>
using namespace metal;

kernel void addresses(texture2d<float> t [[texture(0)]], device const float* at [[buffer(0)]],
                      device float* out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    constexpr sampler edge;
    constexpr sampler repeated(address::repeat);
    constexpr sampler mirrored(address::mirrored_repeat, filter::nearest);
    constexpr sampler zero(s_address::clamp_to_zero, t_address::clamp_to_edge);
    constexpr sampler border(coord::normalized, address::clamp_to_border, border_color::opaque_white);
    float2 place = float2(at[i], 0.25f);
    out[i] = t.sample(edge, place).x;
    out[6 + i] = t.sample(repeated, place).x;
    out[12 + i] = t.sample(mirrored, place).x;
    out[18 + i] = t.sample(zero, place).x;
    out[24 + i] = t.sample(border, place).x;
}

kernel void filters(texture2d<float> t [[texture(0)]], device float* out [[buffer(0)]]) {
    constexpr sampler linear(filter::linear, address::clamp_to_edge);
    constexpr sampler texels(coord::pixel, filter::linear);
    constexpr sampler nearest(coord::pixel);
    out[0] = t.sample(linear, float2(0.25f, 0.25f)).x;
    out[1] = t.sample(linear, float2(0.25f, 0.5f)).x;
    out[2] = t.sample(linear, float2(0, 0)).x;
    out[3] = t.sample(texels, float2(1, 0.5f)).x;
    out[4] = t.sample(nearest, float2(2.75f, 1.25f)).x;
    out[5] = t.sample(texels, float2(1, 1), level(0)).x;
    out[6] = t.sample(nearest, float2(0.5f, 0.5f), int2(1, 0)).x;
    out[7] = t.sample(nearest, float2(0.5f, 0.5f), int2(1, 1)).x;
    float4 around = t.gather(linear, float2(0.5f, 0.5f));
    out[8] = around.x;
    out[9] = around.y;
    out[10] = around.z;
    out[11] = around.w;
    constexpr sampler repeated(filter::linear, address::repeat);
    out[12] = t.sample(repeated, float2(0.25f, 0.25f), int2(4, 2)).x + 5;
    out[13] = t.sample(repeated, float2(1, 0.25f)).x + 15;
}

kernel void comparisons(depth2d<float> t [[texture(0)]], device float* out [[buffer(0)]],
                        uint i [[thread_position_in_grid]]) {
    constexpr sampler less(compare_func::less);
    constexpr sampler greater_equal(compare_func::greater_equal);
    float2 place = float2(0.25f + 0.5f * i, 0.5f);
    out[i] = t.sample(less, place);
    out[2 + i] = t.sample_compare(less, place, 0.5f);
    out[4 + i] = t.sample_compare(greater_equal, place, 0.5f);
    out[6 + i] = t.sample_compare(greater_equal, place, i == 0 ? 0.25f : 0.5f);
}
