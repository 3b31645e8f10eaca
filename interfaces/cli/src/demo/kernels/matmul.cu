// C = A·B by tiles of 16×16 in shared memory; all sizes are multiples of 16.
#define TILE 16

extern "C" __global__ void matmul(const float* __restrict__ a, const float* __restrict__ b,
                                  float* __restrict__ c, unsigned n) {
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];
    unsigned x = threadIdx.x;
    unsigned y = threadIdx.y;
    unsigned row = blockIdx.y * TILE + y;
    unsigned column = blockIdx.x * TILE + x;
    float sum = 0;
    for (unsigned k = 0; k < n; k += TILE) {
        left[y][x] = a[row * n + k + x];
        right[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < TILE; j++) {
            sum = fmaf(left[y][j], right[j][x], sum);
        }
        __syncthreads();
    }
    c[row * n + column] = sum;
}
