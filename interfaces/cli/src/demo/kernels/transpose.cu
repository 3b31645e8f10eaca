// Transposes a square matrix by tiles of 32×32, each thread four elements; the odd row length keeps columns
// of the tile in different banks.
#define TILE 32

extern "C" __global__ void transpose(const float* __restrict__ source, float* __restrict__ target, unsigned n) {
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
