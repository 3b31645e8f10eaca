// Sums: each block halves 256 partial sums in a tree.
extern "C" __global__ void reduce(const float* __restrict__ values, float* __restrict__ partial, unsigned n) {
    __shared__ float shared[256];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + tid;
    shared[tid] = i < n ? values[i] : 0.0f;
    __syncthreads();
    for (unsigned half_width = blockDim.x / 2; half_width > 0; half_width /= 2) {
        if (tid < half_width) {
            shared[tid] += shared[tid + half_width];
        }
        __syncthreads();
    }
    if (tid == 0) {
        partial[blockIdx.x] = shared[0];
    }
}
