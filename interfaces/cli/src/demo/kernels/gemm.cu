// C = A·B by tiles of 64×64: four warps of 32×32 elements each, in registers, 8×4 to a lane; all sizes are
// multiples of 64. CUDA's own matrix fragments multiply floats only as tf32, which is not the same function.
#define TILE 64
#define DEPTH 16

extern "C" __global__ void gemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                unsigned n) {
    // A's tile lies transposed, so that a lane's rows are together.
    __shared__ __align__(16) float left[DEPTH][TILE + 4];
    __shared__ __align__(16) float right[DEPTH][TILE];
    unsigned tid = threadIdx.x;
    unsigned warp = tid / 32;
    unsigned lane = tid % 32;
    unsigned row = warp / 2 * 32 + lane / 8 * 8;
    unsigned column = warp % 2 * 32 + lane % 8 * 4;
    const float* from_a = a + (size_t)blockIdx.y * TILE * n;
    const float* from_b = b + blockIdx.x * TILE;

    float sums[8][4] = {};
    for (unsigned k = 0; k < n; k += DEPTH) {
        for (unsigned at = tid; at < TILE * DEPTH / 4; at += 128) {
            unsigned y = at / (DEPTH / 4);
            unsigned x = at % (DEPTH / 4) * 4;
            float4 piece = *(const float4*)(from_a + y * n + k + x);
            left[x][y] = piece.x;
            left[x + 1][y] = piece.y;
            left[x + 2][y] = piece.z;
            left[x + 3][y] = piece.w;
            y = at / (TILE / 4);
            x = at % (TILE / 4) * 4;
            *(float4*)&right[y][x] = *(const float4*)(from_b + (k + y) * n + x);
        }
        __syncthreads();
        for (int d = 0; d < DEPTH; d++) {
            float4 upper = *(const float4*)&left[d][row];
            float4 lower = *(const float4*)&left[d][row + 4];
            float4 columns = *(const float4*)&right[d][column];
            float r[8] = {upper.x, upper.y, upper.z, upper.w, lower.x, lower.y, lower.z, lower.w};
            float s[4] = {columns.x, columns.y, columns.z, columns.w};
            for (int i = 0; i < 8; i++) {
                for (int j = 0; j < 4; j++) {
                    sums[i][j] = fmaf(r[i], s[j], sums[i][j]);
                }
            }
        }
        __syncthreads();
    }
    float* out = c + ((size_t)blockIdx.y * TILE + row) * n + blockIdx.x * TILE + column;
    for (int i = 0; i < 8; i++) {
        *(float4*)(out + i * n) = make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
    }
}
