#include <metal_stdlib>
using namespace metal;

// The Mandelbrot set, coloured by how fast each point leaves it, without steps between the colours.
kernel void mandelbrot(texture2d<float, access::write> out [[texture(0)]], uint2 p [[thread_position_in_grid]]) {
    float2 size = float2(out.get_width(), out.get_height());
    float2 c = (float2(p) + 0.5f) / size * 2.6f - float2(2.0f, 1.3f);
    float2 z = 0;
    uint n = 0;
    while (n < 200 && dot(z, z) < 256) {
        z = float2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c;
        n++;
    }
    float smoothed = float(n) + 1 - log2(max(1.0f, 0.5f * log2(dot(z, z))));
    float3 colour = 0.5f + 0.5f * cos(0.12f * smoothed + float3(3.2f, 3.9f, 4.6f));
    out.write(float4(n == 200 ? float3(0) : colour, 1), p);
}
