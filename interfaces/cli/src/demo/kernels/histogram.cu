// Counts bytes in 256 bins: each block counts in its own memory, then adds to the total.
extern "C" __global__ void histogram(const unsigned char* __restrict__ values, unsigned* __restrict__ bins,
                                     unsigned n) {
    __shared__ unsigned local_bins[256];
    for (unsigned bin = threadIdx.x; bin < 256; bin += blockDim.x) {
        local_bins[bin] = 0;
    }
    __syncthreads();
    for (unsigned at = blockIdx.x * blockDim.x + threadIdx.x; at < n; at += gridDim.x * blockDim.x) {
        atomicAdd(&local_bins[values[at]], 1u);
    }
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < 256; bin += blockDim.x) {
        atomicAdd(&bins[bin], local_bins[bin]);
    }
}
