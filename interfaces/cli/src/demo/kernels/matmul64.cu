// C = A·B by tiles of 64×64 in shared memory, 16×16 threads with 4×4 elements each; all sizes are multiples
// of 64.
#define TILE 64
#define DEPTH 16
#define EACH 4

extern "C" __global__ void matmul64(const float* __restrict__ a, const float* __restrict__ b,
                                    float* __restrict__ c, unsigned n) {
    __shared__ __align__(16) float left[DEPTH][TILE];
    __shared__ __align__(16) float right[DEPTH][TILE];
    unsigned x = threadIdx.x;
    unsigned y = threadIdx.y;
    unsigned tid = y * 16 + x;
    unsigned left_row = tid / 4;
    unsigned left_column = tid % 4 * 4;
    unsigned right_row = tid / 16;
    unsigned right_column = tid % 16 * 4;
    const float* from_a = a + (blockIdx.y * TILE + left_row) * n + left_column;
    const float* from_b = b + right_row * n + blockIdx.x * TILE + right_column;

    float sums[EACH][EACH] = {};
    for (unsigned k = 0; k < n; k += DEPTH) {
        float4 piece = *(const float4*)from_a;
        left[left_column][left_row] = piece.x;
        left[left_column + 1][left_row] = piece.y;
        left[left_column + 2][left_row] = piece.z;
        left[left_column + 3][left_row] = piece.w;
        *(float4*)&right[right_row][right_column] = *(const float4*)from_b;
        __syncthreads();
        for (int j = 0; j < DEPTH; j++) {
            float4 rows = *(const float4*)&left[j][y * EACH];
            float4 columns = *(const float4*)&right[j][x * EACH];
            float r[EACH] = {rows.x, rows.y, rows.z, rows.w};
            float s[EACH] = {columns.x, columns.y, columns.z, columns.w};
            for (int i = 0; i < EACH; i++) {
                for (int l = 0; l < EACH; l++) {
                    sums[i][l] = fmaf(r[i], s[l], sums[i][l]);
                }
            }
        }
        __syncthreads();
        from_a += DEPTH;
        from_b += DEPTH * n;
    }
    float* out = c + (blockIdx.y * TILE + y * EACH) * n + blockIdx.x * TILE + x * EACH;
    for (int i = 0; i < EACH; i++) {
        *(float4*)(out + i * n) = make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
    }
}
