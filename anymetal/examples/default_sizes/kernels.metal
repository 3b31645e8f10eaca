// Kernels whose speed depends on the shape of their threadgroups in different ways.
#include <metal_stdlib>
using namespace metal;

// One element a thread, at its place in a grid of any shape.
kernel void add(device const float* x, device float* y, uint3 at [[thread_position_in_grid]],
                uint3 grid [[threads_per_grid]]) {
    uint i = (at.z * grid.y + at.y) * grid.x + at.x;
    y[i] += 0.5f * x[i];
}

// x is the row: neighbours along x are far apart in memory.
kernel void add_by_columns(device const float* x, device float* y, uint2 at [[thread_position_in_grid]],
                           uint2 grid [[threads_per_grid]]) {
    uint i = at.x * grid.y + at.y;
    y[i] += 0.5f * x[i];
}

kernel void transpose(device const float* x, device float* y, uint2 at [[thread_position_in_grid]],
                      uint2 grid [[threads_per_grid]]) {
    y[at.x * grid.y + at.y] = x[at.y * grid.x + at.x];
}

kernel void blur(device const float* x, device float* y, uint2 at [[thread_position_in_grid]],
                 uint2 grid [[threads_per_grid]]) {
    float sum = 0;
    for (int v = -1; v <= 1; v++) {
        for (int u = -1; u <= 1; u++) {
            int2 from = clamp(int2(at) + int2(u, v), int2(0), int2(grid) - 1);
            sum += x[from.y * grid.x + from.x];
        }
    }
    y[at.y * grid.x + at.x] = sum / 9;
}

kernel void laplace(device const float* x, device float* y, uint3 at [[thread_position_in_grid]],
                    uint3 grid [[threads_per_grid]]) {
    uint i = (at.z * grid.y + at.y) * grid.x + at.x;
    if (any(at == 0) || any(at + 1 >= grid)) { y[i] = 0; return; }
    uint row = grid.x, plane = grid.x * grid.y;
    y[i] = x[i - 1] + x[i + 1] + x[i - row] + x[i + row] + x[i - plane] + x[i + plane] - 6 * x[i];
}

// Each thread sums a row of `width` elements.
kernel void sum_rows(device const float* x, device float* y, constant uint& width,
                     uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < width; k++) sum += x[i * width + k];
    y[i] = sum;
}

// Each thread sums a column of `height` elements.
kernel void sum_columns(device const float* x, device float* y, constant uint& height,
                        uint i [[thread_position_in_grid]], uint width [[threads_per_grid]]) {
    float sum = 0;
    for (uint k = 0; k < height; k++) sum += x[k * width + i];
    y[i] = sum;
}

kernel void matmul(device const float* a, device const float* b, device float* c, constant uint& n,
                   uint2 at [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < n; k++) sum += a[at.y * n + k] * b[k * n + at.x];
    c[at.y * n + at.x] = sum;
}

// Much arithmetic, the same in each thread.
kernel void iterate(device float* y, constant uint& rounds, uint3 at [[thread_position_in_grid]],
                    uint3 grid [[threads_per_grid]]) {
    uint i = (at.z * grid.y + at.y) * grid.x + at.x;
    float v = y[i] + 0.25f;
    for (uint k = 0; k < rounds; k++) v = sin(v) + 0.5f * v;
    y[i] = v;
}

// Much arithmetic, which differs between neighbours.
kernel void mandelbrot(device uint* counts, uint2 at [[thread_position_in_grid]],
                       uint2 grid [[threads_per_grid]]) {
    float2 c = float2(at) / float2(grid) * float2(2.5f, 2.5f) + float2(-2.0f, -1.25f), z = 0;
    uint count = 0;
    for (; count < 200 && dot(z, z) < 4; count++) z = float2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c;
    counts[at.y * grid.x + at.x] = count;
}

// Knows its place in its threadgroup.
kernel void add_in_threadgroups(device const float* x, device float* y, uint2 group [[threadgroup_position_in_grid]],
                                uint2 in_group [[thread_position_in_threadgroup]],
                                uint2 size [[threads_per_threadgroup]], uint2 grid [[threads_per_grid]]) {
    uint2 at = group * size + in_group;
    if (any(at >= grid)) return;
    y[at.y * grid.x + at.x] += 0.5f * x[at.y * grid.x + at.x];
}

kernel void histogram(device const uint* values, device atomic_uint* bins, uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&bins[values[i] & 255], 1u, memory_order_relaxed);
}

// Elements of which data decide the places.
kernel void gather(device const uint* at, device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
    y[i] = x[at[i] & 0xfffff];
}
