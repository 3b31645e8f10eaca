#include <metal_stdlib>
using namespace metal;

// Light from the upper left over a picture whose brightness is taken for height.
kernel void relief(texture2d<float> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                   uint2 p [[thread_position_in_grid]]) {
    float3 luma = float3(0.299f, 0.587f, 0.114f);
    uint2 last = uint2(in.get_width(), in.get_height()) - 1;
    float3 colour = in.read(p).rgb;
    float here = dot(colour, luma);
    float across = here - dot(in.read(min(p + uint2(1, 0), last)).rgb, luma);
    float down = here - dot(in.read(min(p + uint2(0, 1), last)).rgb, luma);
    float3 normal = normalize(float3(6 * across, 6 * down, 1));
    float light = max(0.0f, dot(normal, normalize(float3(-1, -1, 1.5f))));
    out.write(float4(mix(float3(0.75f), colour, 0.35f) * (0.25f + light), 1), p);
}
