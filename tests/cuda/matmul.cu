// C = A·B by tiles in shared memory; all sizes are multiples of a tile.
#include <cstdio>

template <int TILE>
__global__ void product(const float* a, const float* b, float* c, unsigned n) {
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (unsigned k = 0; k < n; k += TILE) {
        left[y][x] = a[row * n + k + x];
        right[y][x] = b[(k + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < TILE; j++) {
            sum += left[y][j] * right[j][x];
        }
        __syncthreads();
    }
    c[row * n + column] = sum;
}

int main() {
    constexpr int tile = 16;
    const unsigned n = 32;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMalloc(&b, n * n * sizeof(float));
    cudaMalloc(&c, n * n * sizeof(float));
    dim3 grid(n / tile, n / tile);
    dim3 block(tile, tile);
    product<tile><<<grid, block>>>(a, b, c, n);
    cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
