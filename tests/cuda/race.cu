// A reduction in shared memory that lacks a barrier, and one that has it.
template <bool WITH_BARRIER>
__device__ void fold(int* values) {
    for (int width = blockDim.x / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) {
            values[threadIdx.x] += values[threadIdx.x + width];
        }
        if (WITH_BARRIER) {
            __syncthreads();
        }
    }
}

template <bool WITH_BARRIER>
__global__ void reduce(const int* input, int* result) {
    __shared__ int values[128];
    values[threadIdx.x] = input[threadIdx.x];
    __syncthreads();
    fold<WITH_BARRIER>(values);
    if (threadIdx.x == 0) {
        *result = values[0];
    }
}
