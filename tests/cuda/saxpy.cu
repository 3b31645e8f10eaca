// y = a·x + y
__global__ void saxpy(const float* __restrict__ x, float* __restrict__ y, float a, unsigned n) {
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = fmaf(a, x[i], y[i]);
    }
}
