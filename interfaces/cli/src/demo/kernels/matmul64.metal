// C = A·B by tiles of 64×64 in threadgroup memory, 16×16 threads with 4×4 elements each; all sizes are
// multiples of 64.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint TILE = 64;
constant constexpr uint DEPTH = 16;
constant constexpr uint EACH = 4;

kernel void matmul64(device const float* a [[buffer(0)]],
                     device const float* b [[buffer(1)]],
                     device float* c [[buffer(2)]],
                     constant uint& n [[buffer(3)]],
                     uint2 at [[thread_position_in_threadgroup]],
                     uint tid [[thread_index_in_threadgroup]],
                     uint2 tile [[threadgroup_position_in_grid]]) {
    threadgroup float left[DEPTH][TILE];
    threadgroup float right[DEPTH][TILE];
    // Loading: 256 threads take a float4 each of A's 64×16 and of B's 16×64.
    uint left_row = tid / 4;
    uint left_column = tid % 4 * 4;
    uint right_row = tid / 16;
    uint right_column = tid % 16 * 4;
    device const float* from_a = a + (tile.y * TILE + left_row) * n + left_column;
    device const float* from_b = b + right_row * n + tile.x * TILE + right_column;

    float4 sums[EACH] = {0, 0, 0, 0};
    for (uint k = 0; k < n; k += DEPTH) {
        float4 piece = *(device const float4*)from_a;
        for (uint i = 0; i < 4; i++) {
            left[left_column + i][left_row] = piece[i];
        }
        *(threadgroup float4*)&right[right_row][right_column] = *(device const float4*)from_b;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < DEPTH; j++) {
            float4 rows = *(threadgroup const float4*)&left[j][at.y * EACH];
            float4 columns = *(threadgroup const float4*)&right[j][at.x * EACH];
            for (uint i = 0; i < EACH; i++) {
                sums[i] = fma(float4(rows[i]), columns, sums[i]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        from_a += DEPTH;
        from_b += DEPTH * n;
    }
    device float* out = c + (tile.y * TILE + at.y * EACH) * n + tile.x * TILE + at.x * EACH;
    for (uint i = 0; i < EACH; i++) {
        *(device float4*)(out + i * n) = sums[i];
    }
}
