// A matrix of 4-bit weights times a vector of floats; the format is llama.cpp's q4_0. Each warp takes four rows;
// two lanes share a block.
#include <cuda_fp16.h>

struct Block {
    __half scale;
    unsigned char weights[16];
};

#define ROWS 4

extern "C" __global__ void q4_0_vector(const Block* __restrict__ matrix, const float* __restrict__ vector,
                                       float* __restrict__ target, unsigned columns, unsigned rows) {
    unsigned lane = threadIdx.x % 32;
    unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * ROWS;
    unsigned blocks = columns / 32;
    unsigned part = lane % 2 * 8;
    float sums[ROWS] = {0, 0, 0, 0};
    for (unsigned block = lane / 2; block < blocks; block += 16) {
        const float* values = vector + block * 32 + part;
        float low[8];
        float high[8];
        float total = 0;
        for (int j = 0; j < 8; j++) {
            low[j] = values[j];
            high[j] = values[j + 16];
            total += low[j] + high[j];
        }
        for (int r = 0; r < ROWS; r++) {
            const Block& b = matrix[(size_t)(first + r) * blocks + block];
            float sum = 0;
            for (int j = 0; j < 8; j++) {
                unsigned char both = b.weights[part + j];
                sum += low[j] * (float)(both & 15) + high[j] * (float)(both >> 4);
            }
            sums[r] += __half2float(b.scale) * (sum - 8 * total);
        }
    }
    for (int r = 0; r < ROWS; r++) {
        float sum = warp_sum(sums[r]);
        if (lane == 0 && first + r < rows) {
            target[first + r] = sum;
        }
    }
}
