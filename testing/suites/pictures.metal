// Filters of pictures over textures, as image libraries write them: one thread for each pixel.
// pictures.py runs them beside OpenCV.

#include <metal_stdlib>
using namespace metal;

constexpr sampler linear_clamped(coord::normalized, address::clamp_to_edge, filter::linear);
constexpr sampler pixel_clamped(coord::pixel, address::clamp_to_edge, filter::linear);

static uint2 clamped(int2 at, int2 size) { return uint2(clamp(at, int2(0), size - 1)); }

// A 5×5 binomial blur.
kernel void blur(texture2d<float, access::read> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                 uint2 p [[thread_position_in_grid]]) {
    const float weights[5] = {1, 4, 6, 4, 1};
    const int2 size = int2(in.get_width(), in.get_height());
    float4 sum = 0;
    for (int y = -2; y <= 2; y++) {
        for (int x = -2; x <= 2; x++) {
            sum += weights[y + 2] * weights[x + 2] * in.read(clamped(int2(p) + int2(x, y), size));
        }
    }
    out.write(sum * (1.0f / 256.0f), p);
}

// Smooths and keeps edges: neighbours within `radius` weigh by their distance and by their difference in colour.
kernel void bilateral(texture2d<float, access::read> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                      constant int& radius [[buffer(0)]], constant float2& falloff [[buffer(1)]],
                      uint2 p [[thread_position_in_grid]]) {
    const int2 size = int2(in.get_width(), in.get_height());
    const float3 centre = in.read(p).rgb;
    float3 sum = 0;
    float weights = 0;
    for (int y = -radius; y <= radius; y++) {
        for (int x = -radius; x <= radius; x++) {
            const float distance = float(x * x + y * y);
            if (x * x + y * y > radius * radius) continue;
            const float3 colour = in.read(clamped(int2(p) + int2(x, y), size)).rgb;
            const float3 apart = abs(colour - centre);
            const float difference = apart.r + apart.g + apart.b;
            const float weight = exp(falloff.x * distance + falloff.y * difference * difference);
            sum += weight * colour;
            weights += weight;
        }
    }
    out.write(float4(sum / weights, 1), p);
}

// Half of the sum of the two derivatives, each saturated.
kernel void sobel(texture2d<float, access::read> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                  uint2 p [[thread_position_in_grid]]) {
    const int2 size = int2(in.get_width(), in.get_height());
    float at[3][3];
    for (int y = 0; y < 3; y++) {
        for (int x = 0; x < 3; x++) {
            at[y][x] = in.read(clamped(int2(p) + int2(x - 1, y - 1), size)).r;
        }
    }
    const float across = at[0][2] - at[0][0] + 2 * (at[1][2] - at[1][0]) + at[2][2] - at[2][0];
    const float down = at[2][0] - at[0][0] + 2 * (at[2][1] - at[0][1]) + at[2][2] - at[0][2];
    out.write(float4(0.5f * (min(abs(across), 1.0f) + min(abs(down), 1.0f))), p);
}

// Bilinear, to the size of `out`.
kernel void resize(texture2d<float> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                   uint2 p [[thread_position_in_grid]]) {
    const float2 size = float2(out.get_width(), out.get_height());
    out.write(in.sample(linear_clamped, (float2(p) + 0.5f) / size), p);
}

// Colours by a cube of 64³ that lies in `table` as 8×8 slices, as graphics programs store them.
kernel void lookup(texture2d<float, access::read> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                   texture2d<float> table [[texture(2)]], uint2 p [[thread_position_in_grid]]) {
    const float4 colour = in.read(p);
    const float blue = colour.b * 63;
    const float low = floor(blue), high = min(low + 1, 63.0f);
    const float2 within = colour.rg * 63 + 0.5f;
    const float2 one = float2(fmod(low, 8.0f), floor(low / 8)) * 64 + within;
    const float2 two = float2(fmod(high, 8.0f), floor(high / 8)) * 64 + within;
    const float4 mixed = mix(table.sample(pixel_clamped, one), table.sample(pixel_clamped, two), blue - low);
    out.write(float4(mixed.rgb, colour.a), p);
}

// Dense Lucas-Kanade on one level: where the pixel's surroundings of 9×9 in `before` lie in `after`, after
// `steps` steps of Newton's method. The flow is stored as 0.5 + flow / 16.
kernel void flow(texture2d<float> before [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                 texture2d<float> after [[texture(2)]], constant int& steps [[buffer(0)]],
                 uint2 p [[thread_position_in_grid]]) {
    const int2 size = int2(before.get_width(), before.get_height());
    float3 squares = 0;  // xx, xy, yy
    for (int y = -4; y <= 4; y++) {
        for (int x = -4; x <= 4; x++) {
            const int2 at = int2(p) + int2(x, y);
            const float gx = before.read(clamped(at + int2(1, 0), size)).r - before.read(clamped(at - int2(1, 0), size)).r;
            const float gy = before.read(clamped(at + int2(0, 1), size)).r - before.read(clamped(at - int2(0, 1), size)).r;
            squares += float3(gx * gx, gx * gy, gy * gy) * 0.25f;
        }
    }
    const float determinant = squares.x * squares.z - squares.y * squares.y;
    const float inverse = determinant > 1e-9f ? 1 / determinant : 0;
    float2 moved = 0;
    for (int step = 0; step < steps; step++) {
        float2 error = 0;
        for (int y = -4; y <= 4; y++) {
            for (int x = -4; x <= 4; x++) {
                const int2 at = int2(p) + int2(x, y);
                const float gx = before.read(clamped(at + int2(1, 0), size)).r - before.read(clamped(at - int2(1, 0), size)).r;
                const float gy = before.read(clamped(at + int2(0, 1), size)).r - before.read(clamped(at - int2(0, 1), size)).r;
                const float difference =
                    before.read(clamped(at, size)).r - after.sample(pixel_clamped, float2(at) + moved + 0.5f).r;
                error += float2(gx, gy) * (0.5f * difference);
            }
        }
        moved += inverse * float2(squares.z * error.x - squares.y * error.y, squares.x * error.y - squares.y * error.x);
    }
    out.write(float4(0.5f + moved / 16, 0, 1), p);
}
