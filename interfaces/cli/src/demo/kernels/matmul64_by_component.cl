// C = A·B by tiles of 64×64 in local memory, 16×16 work-items with 4×4 elements each; all sizes are multiples
// of 64. By component: vector types keep the CPU runtimes from vectorising over work-items.
#define TILE 64
#define DEPTH 16
#define EACH 4

kernel void matmul64(global const float* restrict a, global const float* restrict b, global float* restrict c,
                     uint n) {
    local float left[DEPTH][TILE];
    local float right[DEPTH][TILE];
    int x = get_local_id(0);
    int y = get_local_id(1);
    int tid = y * 16 + x;
    int left_row = tid / 4;
    int left_column = tid % 4 * 4;
    int right_row = tid / 16;
    int right_column = tid % 16 * 4;
    global const float* from_a = a + (get_group_id(1) * TILE + left_row) * n + left_column;
    global const float* from_b = b + right_row * n + get_group_id(0) * TILE + right_column;

    float sums[EACH][EACH];
    for (int i = 0; i < EACH; i++) {
        for (int j = 0; j < EACH; j++) {
            sums[i][j] = 0;
        }
    }
    for (uint k = 0; k < n; k += DEPTH) {
        for (int i = 0; i < 4; i++) {
            left[left_column + i][left_row] = from_a[i];
            right[right_row][right_column + i] = from_b[i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = 0; d < DEPTH; d++) {
            for (int i = 0; i < EACH; i++) {
                for (int j = 0; j < EACH; j++) {
                    sums[i][j] = fma(left[d][y * EACH + i], right[d][x * EACH + j], sums[i][j]);
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        from_a += DEPTH;
        from_b += DEPTH * n;
    }
    global float* out = c + (get_group_id(1) * TILE + y * EACH) * n + get_group_id(0) * TILE + x * EACH;
    for (int i = 0; i < EACH; i++) {
        for (int j = 0; j < EACH; j++) {
            out[i * n + j] = sums[i][j];
        }
    }
}
