// C = A·B by tiles of 16×16 in threadgroup memory; all sizes are multiples of 16.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint TILE = 16;

kernel void matmul(device const float* a [[buffer(0)]],
                   device const float* b [[buffer(1)]],
                   device float* c [[buffer(2)]],
                   constant uint& n [[buffer(3)]],
                   uint2 at [[thread_position_in_threadgroup]],
                   uint2 tile [[threadgroup_position_in_grid]]) {
    threadgroup float left[TILE][TILE];
    threadgroup float right[TILE][TILE];
    uint row = tile.y * TILE + at.y;
    uint column = tile.x * TILE + at.x;
    float sum = 0;
    for (uint k = 0; k < n; k += TILE) {
        left[at.y][at.x] = a[row * n + k + at.x];
        right[at.y][at.x] = b[(k + at.y) * n + column];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < TILE; j++) {
            sum = fma(left[at.y][j], right[j][at.x], sum);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[row * n + column] = sum;
}
