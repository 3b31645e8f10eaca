// Transposes a square matrix by tiles of 32×32, each thread four elements; the odd row length keeps columns
// of the tile in different banks.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint TILE = 32;

kernel void transpose(device const float* source [[buffer(0)]],
                      device float* target [[buffer(1)]],
                      constant uint& n [[buffer(2)]],
                      uint2 at [[thread_position_in_threadgroup]],
                      uint2 size [[threads_per_threadgroup]],
                      uint2 group [[threadgroup_position_in_grid]]) {
    threadgroup float tile[TILE][TILE + 1];
    uint x = group.x * TILE + at.x;
    uint y = group.y * TILE;
    for (uint row = at.y; row < TILE; row += size.y) {
        tile[row][at.x] = source[(y + row) * n + x];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x = group.y * TILE + at.x;
    y = group.x * TILE;
    for (uint row = at.y; row < TILE; row += size.y) {
        target[(y + row) * n + x] = tile[at.x][row];
    }
}
