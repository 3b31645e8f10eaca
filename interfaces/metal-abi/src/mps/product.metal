// Products of matrices for MPSMatrixMultiplication: result = alpha * left * right + beta * result.
// LEFT, RIGHT and RESULT are the types of the elements. A threadgroup of four SIMD-groups computes a
// tile of 32 by 32 elements; tiles of the factors are staged as floats, with zeros beyond the edges.
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

struct Shape {
    uint rows, columns, interior;
    // Distances of rows in elements, and of the matrices of a batch.
    uint left_row, right_row, result_row;
    uint left_matrix, right_matrix, result_matrix;
    uint left_transposed, right_transposed;
    float alpha, beta;
};

constant uint TILE = 32;
constant uint THREADS = 128;

kernel void product(device const LEFT* left [[buffer(0)]],
                    device const RIGHT* right [[buffer(1)]],
                    device RESULT* result [[buffer(2)]],
                    constant Shape& shape [[buffer(3)]],
                    uint3 group [[threadgroup_position_in_grid]],
                    uint thread_index [[thread_index_in_threadgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float a[TILE * TILE];
    threadgroup float b[TILE * TILE];
    left += size_t(group.z) * shape.left_matrix;
    right += size_t(group.z) * shape.right_matrix;
    result += size_t(group.z) * shape.result_matrix;
    uint first_row = group.y * TILE, first_column = group.x * TILE;
    uint y = simdgroup / 2 * 16, x = simdgroup % 2 * 16;
    simdgroup_float8x8 sums[2][2];
    for (uint i = 0; i < 2; i++) {
        for (uint j = 0; j < 2; j++) {
            sums[i][j] = make_filled_simdgroup_matrix<float, 8>(0.0f);
        }
    }
    for (uint first = 0; first < shape.interior; first += TILE) {
        for (uint at = thread_index; at < TILE * TILE; at += THREADS) {
            uint outer = at / TILE, inner = at % TILE;
            uint row = first_row + outer, k = first + inner;
            uint left_at = shape.left_transposed ? k * shape.left_row + row : row * shape.left_row + k;
            a[at] = row < shape.rows && k < shape.interior ? float(left[left_at]) : 0.0f;
            uint column = first_column + inner;
            k = first + outer;
            uint right_at =
                shape.right_transposed ? column * shape.right_row + k : k * shape.right_row + column;
            b[at] = column < shape.columns && k < shape.interior ? float(right[right_at]) : 0.0f;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < TILE; k += 8) {
            simdgroup_float8x8 rows[2], columns[2];
            for (uint i = 0; i < 2; i++) {
                simdgroup_load(rows[i], a + (y + 8 * i) * TILE + k, TILE);
                simdgroup_load(columns[i], b + k * TILE + x + 8 * i, TILE);
            }
            for (uint i = 0; i < 2; i++) {
                for (uint j = 0; j < 2; j++) {
                    simdgroup_multiply_accumulate(sums[i][j], rows[i], columns[j], sums[i][j]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint i = 0; i < 2; i++) {
        for (uint j = 0; j < 2; j++) {
            simdgroup_store(sums[i][j], a + (y + 8 * i) * TILE + x + 8 * j, TILE);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint at = thread_index; at < TILE * TILE; at += THREADS) {
        uint row = first_row + at / TILE, column = first_column + at % TILE;
        if (row < shape.rows && column < shape.columns) {
            device RESULT* place = result + row * shape.result_row + column;
            float value = shape.alpha * a[at];
            *place = RESULT(shape.beta == 0.0f ? value : value + shape.beta * float(*place));
        }
    }
}
