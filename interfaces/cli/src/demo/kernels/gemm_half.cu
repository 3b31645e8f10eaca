// C = A·B in half with sums in float: tiles of 64×64, four warps of 2×2 fragments of 16×16 each, on the tensor cores; all
// sizes are multiples of 64.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

#define TILE 64
#define DEPTH 32
// Rows of the tiles are a little longer, so that warps read different banks.
#define PAD 8

extern "C" __global__ void gemm_half(const half* __restrict__ a, const half* __restrict__ b, float* __restrict__ c,
                                     unsigned n) {
    __shared__ __align__(32) half left[TILE][DEPTH + PAD];
    __shared__ __align__(32) half right[DEPTH][TILE + PAD];
    unsigned tid = threadIdx.x;
    unsigned warp = tid / 32;
    unsigned row = warp / 2 * 32;
    unsigned column = warp % 2 * 32;
    const half* from_a = a + (size_t)blockIdx.y * TILE * n;
    const half* from_b = b + blockIdx.x * TILE;

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            wmma::fill_fragment(sums[i][j], 0.0f);
        }
    }
    for (unsigned k = 0; k < n; k += DEPTH) {
        for (unsigned at = tid; at < TILE * DEPTH / 8; at += 128) {
            unsigned y = at / (DEPTH / 8);
            unsigned x = at % (DEPTH / 8) * 8;
            *(uint4*)&left[y][x] = *(const uint4*)(from_a + y * n + k + x);
            y = at / (TILE / 8);
            x = at % (TILE / 8) * 8;
            *(uint4*)&right[y][x] = *(const uint4*)(from_b + (k + y) * n + x);
        }
        __syncthreads();
        for (int d = 0; d < DEPTH; d += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> rows[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> columns[2];
            for (int i = 0; i < 2; i++) {
                wmma::load_matrix_sync(rows[i], &left[row + i * 16][d], DEPTH + PAD);
                wmma::load_matrix_sync(columns[i], &right[d][column + i * 16], TILE + PAD);
            }
            for (int i = 0; i < 2; i++) {
                for (int j = 0; j < 2; j++) {
                    wmma::mma_sync(sums[i][j], rows[i], columns[j], sums[i][j]);
                }
            }
        }
        __syncthreads();
    }
    float* out = c + ((size_t)blockIdx.y * TILE + row) * n + blockIdx.x * TILE + column;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            wmma::store_matrix_sync(out + i * 16 * n + j * 16, sums[i][j], n, wmma::mem_row_major);
        }
    }
}
