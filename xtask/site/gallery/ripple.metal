#include <metal_stdlib>
using namespace metal;

// A picture seen through rings of water: a linear sampler reads between the texels, and mirrors at the edges.
kernel void ripple(texture2d<float> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                   uint2 p [[thread_position_in_grid]]) {
    if (p.x >= out.get_width() || p.y >= out.get_height()) {
        return;
    }
    constexpr sampler mirrored(coord::normalized, address::mirrored_repeat, filter::linear);
    float2 at = (float2(p) + 0.5f) / float2(out.get_width(), out.get_height());
    float2 from_centre = at - 0.5f;
    float distance = length(from_centre);
    float slope = sin(40 * distance) * exp(-2 * distance);
    float4 colour = in.sample(mirrored, at + 0.04f * slope * from_centre / max(distance, 1e-4f));
    out.write(float4(colour.rgb * (1 + 0.3f * slope), 1), p);
}
