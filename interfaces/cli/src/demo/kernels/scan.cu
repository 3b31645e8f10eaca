// Inclusive prefix sums in three steps: within blocks of 256, over their totals, added back.
extern "C" __global__ void scan_groups(const unsigned* __restrict__ source, unsigned* __restrict__ target,
                                       unsigned* __restrict__ totals, unsigned n) {
    __shared__ unsigned sums[32];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + tid;
    unsigned lane = tid % 32;
    unsigned within = warp_scan(i < n ? source[i] : 0);
    if (lane == 31) {
        sums[tid / 32] = within;
    }
    __syncthreads();
    if (tid < 32) {
        unsigned sum = lane < blockDim.x / 32 ? sums[lane] : 0;
        sums[lane] = warp_scan(sum) - sum;
    }
    __syncthreads();
    within += sums[tid / 32];
    if (i < n) {
        target[i] = within;
    }
    if (tid == blockDim.x - 1) {
        totals[blockIdx.x] = within;
    }
}

extern "C" __global__ void scan_add(unsigned* __restrict__ target, const unsigned* __restrict__ totals,
                                    unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && blockIdx.x > 0) {
        target[i] += totals[blockIdx.x - 1];
    }
}
