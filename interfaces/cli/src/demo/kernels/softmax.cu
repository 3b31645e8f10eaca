// Softmax of each row; one block of 256 threads a row.
extern "C" __global__ void softmax(const float* __restrict__ source, float* __restrict__ target,
                                   unsigned columns) {
    __shared__ float greatest_of[32];
    __shared__ float sum_of[32];
    const float* in = source + (size_t)blockIdx.x * columns;
    float* out = target + (size_t)blockIdx.x * columns;

    float greatest = -INFINITY;
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
        greatest = fmaxf(greatest, in[c]);
    }
    greatest = block_max(greatest, greatest_of);

    float sum = 0;
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
        float e = expf(in[c] - greatest);
        out[c] = e;
        sum += e;
    }
    float scale = 1.0f / block_sum(sum, sum_of);
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
        out[c] *= scale;
    }
}
