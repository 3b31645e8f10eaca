// C = A·B in half with sums in float: tiles of 64×64, four SIMD-groups of 4×4 fragments of 8×8 each; all sizes are
// multiples of 64.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint TILE = 64;
constant constexpr uint DEPTH = 32;
constant constexpr uint FRAGMENTS = 4;
// Rows of the tiles are a little longer, so that lanes read different banks.
constant constexpr uint LEFT = DEPTH + 8;
constant constexpr uint RIGHT = TILE + 8;

kernel void gemm_half(device const half* a [[buffer(0)]],
                      device const half* b [[buffer(1)]],
                      device float* c [[buffer(2)]],
                      constant uint& n [[buffer(3)]],
                      uint2 tile [[threadgroup_position_in_grid]],
                      uint tid [[thread_index_in_threadgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup half left[TILE * LEFT];
    threadgroup half right[DEPTH * RIGHT];
    uint row = simdgroup / 2 * 32;
    uint column = simdgroup % 2 * 32;
    device const half* from_a = a + size_t(tile.y) * TILE * n;
    device const half* from_b = b + tile.x * TILE;

    simdgroup_float8x8 sums[FRAGMENTS][FRAGMENTS];
    for (uint i = 0; i < FRAGMENTS; i++) {
        for (uint j = 0; j < FRAGMENTS; j++) {
            sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
    }
    for (uint k = 0; k < n; k += DEPTH) {
        for (uint at = tid; at < TILE * DEPTH / 8; at += 128) {
            uint y = at / (DEPTH / 8);
            uint x = at % (DEPTH / 8) * 8;
            *(threadgroup uint4*)(left + y * LEFT + x) = *(device const uint4*)(from_a + y * n + k + x);
            y = at / (TILE / 8);
            x = at % (TILE / 8) * 8;
            *(threadgroup uint4*)(right + y * RIGHT + x) = *(device const uint4*)(from_b + (k + y) * n + x);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint d = 0; d < DEPTH; d += 8) {
            simdgroup_half8x8 rows[FRAGMENTS];
            simdgroup_half8x8 columns[FRAGMENTS];
            for (uint i = 0; i < FRAGMENTS; i++) {
                simdgroup_load(rows[i], left + (row + i * 8) * LEFT + d, LEFT);
                simdgroup_load(columns[i], right + d * RIGHT + column + i * 8, RIGHT);
            }
            for (uint i = 0; i < FRAGMENTS; i++) {
                for (uint j = 0; j < FRAGMENTS; j++) {
                    simdgroup_multiply_accumulate(sums[i][j], rows[i], columns[j], sums[i][j]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    device float* out = c + (size_t(tile.y) * TILE + row) * n + tile.x * TILE + column;
    for (uint i = 0; i < FRAGMENTS; i++) {
        for (uint j = 0; j < FRAGMENTS; j++) {
            simdgroup_store(sums[i][j], out + i * 8 * n + j * 8, n);
        }
    }
}
