// Copies of views that are not contiguous into contiguous memory: elements of a tensor of four dimensions
// with any strides. One kernel takes its position from the grid, the other from a flat index, as the usual
// tensor libraries do.
#include <metal_stdlib>
using namespace metal;

kernel void copy_grid(device const float* source [[buffer(0)]],
                      device float* target [[buffer(1)]],
                      constant uint4& shape [[buffer(2)]],
                      constant uint4& strides [[buffer(3)]],
                      uint3 at [[thread_position_in_grid]],
                      uint3 grid [[threads_per_grid]]) {
    // The outer two dimensions share the grid's z.
    uint outer = at.z / shape.y;
    uint inner = at.z - outer * shape.y;
    size_t from = size_t(outer) * strides.x + size_t(inner) * strides.y + size_t(at.y) * strides.z +
                  size_t(at.x) * strides.w;
    size_t to = at.x + size_t(grid.x) * (at.y + size_t(grid.y) * at.z);
    target[to] = source[from];
}

kernel void copy_flat(device const float* source [[buffer(0)]],
                      device float* target [[buffer(1)]],
                      constant uint& n [[buffer(2)]],
                      constant uint* shape [[buffer(3)]],
                      constant uint* strides [[buffer(4)]],
                      constant uint& dimensions [[buffer(5)]],
                      uint i [[thread_position_in_grid]]) {
    if (i >= n) {
        return;
    }
    uint rest = i;
    uint from = 0;
    for (uint d = 0; d < dimensions; d++) {
        uint dimension = dimensions - 1 - d;
        from += (rest % shape[dimension]) * strides[dimension];
        rest /= shape[dimension];
    }
    target[i] = source[from];
}
