// Transposes a square matrix by tiles of 32×32, each thread four elements.
#include <cuda_runtime.h>
#define TILE 32

__global__ void transpose(const float* source, float* target, unsigned n) {
    __shared__ float tile[TILE][TILE + 1];
    unsigned x = blockIdx.x * TILE + threadIdx.x;
    unsigned y = blockIdx.y * TILE;
    for (unsigned row = threadIdx.y; row < TILE; row += blockDim.y) {
        tile[row][threadIdx.x] = source[(y + row) * n + x];
    }
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE;
    for (unsigned row = threadIdx.y; row < TILE; row += blockDim.y) {
        target[(y + row) * n + x] = tile[threadIdx.x][row];
    }
}
