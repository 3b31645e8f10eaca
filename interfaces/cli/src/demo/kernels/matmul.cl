// C = A·B by tiles of 16×16 in local memory; all sizes are multiples of 16.
#define TILE 16

kernel void matmul(global const float* restrict a, global const float* restrict b, global float* restrict c,
                   uint n) {
    local float left[TILE][TILE];
    local float right[TILE][TILE];
    size_t x = get_local_id(0);
    size_t y = get_local_id(1);
    size_t row = get_global_id(1);
    size_t column = get_global_id(0);
    float sum = 0;
    for (size_t k = 0; k < n; k += TILE) {
        left[y][x] = a[row * n + k + x];
        right[y][x] = b[(k + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < TILE; j++) {
            sum = fma(left[y][j], right[j][x], sum);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}
