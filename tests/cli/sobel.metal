#include <metal_stdlib>
using namespace metal;

constexpr sampler edges(coord::pixel, address::clamp_to_edge, filter::nearest);

// How fast the brightness changes, by Sobel's filter.
kernel void sobel(texture2d<float> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                  uint2 at [[thread_position_in_grid]]) {
    if (at.x >= out.get_width() || at.y >= out.get_height()) return;
    float2 gradient = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            float3 color = in.sample(edges, float2(at) + 0.5f + float2(dx, dy)).rgb;
            float brightness = dot(color, float3(0.2126f, 0.7152f, 0.0722f));
            gradient += brightness * float2(dx * (2 - dy * dy), dy * (2 - dx * dx));
        }
    }
    out.write(float4(float3(length(gradient)), 1), at);
}

// Half a texel to the right.
kernel void shift(texture2d<float> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]], sampler s [[sampler(0)]],
                  uint2 at [[thread_position_in_grid]]) {
    float2 size = float2(out.get_width(), out.get_height());
    out.write(in.sample(s, (float2(at) + float2(1, 0.5f)) / size), at);
}

// The mean of 9 by 9 texels; what is outside of the picture counts as black.
kernel void blur(texture2d<float, access::read> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                 uint2 at [[thread_position_in_grid]]) {
    float4 sum = 0;
    for (int dy = -4; dy <= 4; dy++) {
        for (int dx = -4; dx <= 4; dx++) sum += in.read(uint2(int2(at) + int2(dx, dy)));
    }
    out.write(sum / 81, at);
}
