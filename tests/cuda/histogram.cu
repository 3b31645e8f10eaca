// Counts bytes in 256 bins: each block counts in its own memory, then adds to the total.
__device__ void clear(unsigned* bins, int count) {
    for (int bin = threadIdx.x; bin < count; bin += blockDim.x) {
        bins[bin] = 0;
    }
}

__global__ void histogram(const unsigned char* values, unsigned* bins, unsigned n) {
    __shared__ unsigned local_bins[256];
    clear(local_bins, 256);
    __syncthreads();
    for (unsigned at = blockIdx.x * blockDim.x + threadIdx.x; at < n; at += gridDim.x * blockDim.x) {
        atomicAdd(&local_bins[values[at]], 1u);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) {
        atomicAdd(bins + bin, local_bins[bin]);
    }
}
