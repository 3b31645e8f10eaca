// C = A·B by tiles of 64×64 in local memory, 16×16 work-items with 4×4 elements each; all sizes are multiples
// of 64.
#define TILE 64
#define DEPTH 16
#define EACH 4

kernel void matmul64(global const float* restrict a, global const float* restrict b, global float* restrict c,
                     uint n) {
    local float left[DEPTH][TILE];
    local float right[DEPTH][TILE];
    size_t x = get_local_id(0);
    size_t y = get_local_id(1);
    size_t tid = y * 16 + x;
    size_t left_row = tid / 4;
    size_t left_column = tid % 4 * 4;
    size_t right_row = tid / 16;
    size_t right_column = tid % 16 * 4;
    global const float* from_a = a + (get_group_id(1) * TILE + left_row) * n + left_column;
    global const float* from_b = b + right_row * n + get_group_id(0) * TILE + right_column;

    float4 sums[EACH] = {(float4)(0), (float4)(0), (float4)(0), (float4)(0)};
    for (size_t k = 0; k < n; k += DEPTH) {
        float4 piece = vload4(0, from_a);
        left[left_column][left_row] = piece.x;
        left[left_column + 1][left_row] = piece.y;
        left[left_column + 2][left_row] = piece.z;
        left[left_column + 3][left_row] = piece.w;
        vstore4(vload4(0, from_b), 0, &right[right_row][right_column]);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < DEPTH; j++) {
            float4 rows = vload4(0, &left[j][y * EACH]);
            float4 columns = vload4(0, &right[j][x * EACH]);
            sums[0] = fma((float4)(rows.x), columns, sums[0]);
            sums[1] = fma((float4)(rows.y), columns, sums[1]);
            sums[2] = fma((float4)(rows.z), columns, sums[2]);
            sums[3] = fma((float4)(rows.w), columns, sums[3]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        from_a += DEPTH;
        from_b += DEPTH * n;
    }
    global float* out = c + (get_group_id(1) * TILE + y * EACH) * n + get_group_id(0) * TILE + x * EACH;
    for (int i = 0; i < EACH; i++) {
        vstore4(sums[i], 0, out + i * n);
    }
}
