// A 5×5 binomial blur of a grey picture; the border repeats.
#include <metal_stdlib>
using namespace metal;

constant float weights[5] = {1.0 / 16, 4.0 / 16, 6.0 / 16, 4.0 / 16, 1.0 / 16};

kernel void blur(device const float* source [[buffer(0)]],
                 device float* target [[buffer(1)]],
                 constant uint2& size [[buffer(2)]],
                 uint2 at [[thread_position_in_grid]]) {
    if (at.x >= size.x || at.y >= size.y) {
        return;
    }
    float sum = 0;
    for (int dy = -2; dy <= 2; dy++) {
        uint y = clamp(int(at.y) + dy, 0, int(size.y) - 1);
        for (int dx = -2; dx <= 2; dx++) {
            uint x = clamp(int(at.x) + dx, 0, int(size.x) - 1);
            sum += weights[dy + 2] * weights[dx + 2] * source[y * size.x + x];
        }
    }
    target[at.y * size.x + at.x] = sum;
}
