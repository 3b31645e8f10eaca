// Iterations until z leaves the circle of radius 2.
#include <metal_stdlib>
using namespace metal;

kernel void mandelbrot(device uint* counts [[buffer(0)]],
                       constant uint2& size [[buffer(1)]],
                       constant float4& window [[buffer(2)]],
                       constant uint& limit [[buffer(3)]],
                       uint2 at [[thread_position_in_grid]]) {
    if (at.x >= size.x || at.y >= size.y) {
        return;
    }
    float cx = window.x + float(at.x) * window.z;
    float cy = window.y + float(at.y) * window.w;
    float x = 0;
    float y = 0;
    uint count = 0;
    while (count < limit && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        count++;
    }
    counts[at.y * size.x + at.x] = count;
}
