// Matrix products. T0 to T2 are the stored types of the product and its factors, A the
// accumulator's, W the one whose arithmetic wraps. BIAS: a third operand is added, broadcast by its
// strides. ACTIVATION: a function of the result. The layout `l` is of the batches (product,
// factors, bias).

struct Product {
    uint rows;
    uint columns;
    uint inner;
    int a_row;
    int a_inner;
    int b_inner;
    int b_column;
    int bias_row;
    int bias_column;
};

#ifdef BIAS
#define WITH_BIAS(sum, row, column) \
    (sum + A(bias[start_of(l, 3, batch) + int(row) * m.bias_row + int(column) * m.bias_column]))
#else
#define WITH_BIAS(sum, row, column) (sum)
#endif

#ifdef ACTIVATION
#define FINISH(sum, row, column) T0(ACTIVATION(WITH_BIAS(sum, row, column), p))
#else
#define FINISH(sum, row, column) T0(WITH_BIAS(sum, row, column))
#endif

#ifdef COLUMNS
// A thread for each element: for few rows, and for integers.
kernel void matmul_columns(device T0* out [[buffer(0)]],
                           device const T1* a [[buffer(1)]],
                           device const T2* b [[buffer(2)]],
                           device const T3* bias [[buffer(3)]],
                           constant Product& m [[buffer(4)]],
                           constant Layout& l [[buffer(5)]],
                           constant float4& p [[buffer(6)]],
                           uint3 at [[thread_position_in_grid]]) {
    uint batch = at.z;
    int from_a = start_of(l, 1, batch) + int(at.y) * m.a_row;
    int from_b = start_of(l, 2, batch) + int(at.x) * B_COLUMN;
    A sum = A(0);
    for (uint k = 0; k < m.inner; k++) {
        W product = W(A(a[from_a + int(k) * m.a_inner])) * W(A(b[from_b + int(k) * m.b_inner]));
        sum = A(W(sum) + product);
    }
    out[start_of(l, 0, batch) + int(at.y * m.columns + at.x)] = FINISH(sum, at.y, at.x);
}

#else
constant constexpr uint TILE = 64;
constant constexpr uint DEPTH = 16;
constant constexpr uint FRAGMENTS = 4;
constant constexpr uint THREADS = 128;

// Tiles of 64 by 64, four SIMD-groups of 4 by 4 fragments each; edges are filled with zeros.
kernel void matmul_tiles(device T0* out [[buffer(0)]],
                         device const T1* a [[buffer(1)]],
                         device const T2* b [[buffer(2)]],
                         device const T3* bias [[buffer(3)]],
                         constant Product& m [[buffer(4)]],
                         constant Layout& l [[buffer(5)]],
                         constant float4& p [[buffer(6)]],
                         uint3 tile [[threadgroup_position_in_grid]],
                         uint tid [[thread_index_in_threadgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float left[TILE * DEPTH];
    threadgroup float right[DEPTH * TILE];
    threadgroup float result[TILE * TILE];
    uint batch = tile.z;
    uint first_row = tile.y * TILE;
    uint first_column = tile.x * TILE;
    int from_a = start_of(l, 1, batch);
    int from_b = start_of(l, 2, batch);
    uint row = simdgroup / 2 * 32;
    uint column = simdgroup % 2 * 32;

    simdgroup_float8x8 sums[FRAGMENTS][FRAGMENTS];
    for (uint i = 0; i < FRAGMENTS; i++) {
        for (uint j = 0; j < FRAGMENTS; j++) {
            sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
    }
    for (uint k = 0; k < m.inner; k += DEPTH) {
        for (uint at = tid; at < TILE * DEPTH; at += THREADS) {
#ifdef A_BY_COLUMNS
            uint y = at % TILE;
            uint x = at / TILE;
#else
            uint y = at / DEPTH;
            uint x = at % DEPTH;
#endif
            bool inside = first_row + y < m.rows && k + x < m.inner;
            int from = from_a + int(first_row + y) * A_ROW + int(k + x) * A_INNER;
            left[y * DEPTH + x] = inside ? float(a[from]) : 0.0f;
        }
        for (uint at = tid; at < TILE * DEPTH; at += THREADS) {
#ifdef B_BY_ROWS
            uint y = at % DEPTH;
            uint x = at / DEPTH;
#else
            uint y = at / TILE;
            uint x = at % TILE;
#endif
            bool inside = k + y < m.inner && first_column + x < m.columns;
            int from = from_b + int(k + y) * B_INNER + int(first_column + x) * B_COLUMN;
            right[y * TILE + x] = inside ? float(b[from]) : 0.0f;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint d = 0; d < DEPTH; d += 8) {
            simdgroup_float8x8 rows[FRAGMENTS];
            simdgroup_float8x8 columns[FRAGMENTS];
            for (uint i = 0; i < FRAGMENTS; i++) {
                simdgroup_load(rows[i], left + (row + i * 8) * DEPTH + d, DEPTH);
                simdgroup_load(columns[i], right + d * TILE + column + i * 8, TILE);
            }
            for (uint i = 0; i < FRAGMENTS; i++) {
                for (uint j = 0; j < FRAGMENTS; j++) {
                    simdgroup_multiply_accumulate(sums[i][j], rows[i], columns[j], sums[i][j]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint i = 0; i < FRAGMENTS; i++) {
        for (uint j = 0; j < FRAGMENTS; j++) {
            simdgroup_store(sums[i][j], result + (row + i * 8) * TILE + column + j * 8, TILE);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    int to = start_of(l, 0, batch);
    for (uint at = tid; at < TILE * TILE; at += THREADS) {
        uint y = first_row + at / TILE;
        uint x = first_column + at % TILE;
        if (y < m.rows && x < m.columns) {
            out[to + int(y * m.columns + x)] = FINISH(result[at], y, x);
        }
    }
}
#endif
