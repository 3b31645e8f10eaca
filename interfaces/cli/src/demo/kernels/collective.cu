// Collective operations of a block by warp shuffles. Every thread calls them; `partial` has 32 elements.
#define FULL 0xffffffffu

__device__ inline float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(FULL, value, offset);
    }
    return value;
}

__device__ inline float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(FULL, value, offset));
    }
    return value;
}

__device__ inline unsigned warp_scan(unsigned value) {
    unsigned lane = threadIdx.x % 32;
    for (unsigned offset = 1; offset < 32; offset *= 2) {
        unsigned before = __shfl_up_sync(FULL, value, offset);
        if (lane >= offset) {
            value += before;
        }
    }
    return value;
}

__device__ inline float block_sum(float value, float* partial) {
    unsigned lane = threadIdx.x % 32;
    value = warp_sum(value);
    if (lane == 0) {
        partial[threadIdx.x / 32] = value;
    }
    __syncthreads();
    return warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
}

__device__ inline float block_max(float value, float* partial) {
    unsigned lane = threadIdx.x % 32;
    value = warp_max(value);
    if (lane == 0) {
        partial[threadIdx.x / 32] = value;
    }
    __syncthreads();
    return warp_max(lane < blockDim.x / 32 ? partial[lane] : -INFINITY);
}
