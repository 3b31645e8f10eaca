// Copies of views that are not contiguous into contiguous memory.
extern "C" __global__ void copy_grid(const float* __restrict__ source, float* __restrict__ target, uint4 shape,
                                     uint4 strides) {
    size_t x = blockIdx.x * blockDim.x + threadIdx.x;
    size_t y = blockIdx.y * blockDim.y + threadIdx.y;
    size_t z = blockIdx.z;
    unsigned outer = blockIdx.z / shape.y;
    unsigned inner = blockIdx.z - outer * shape.y;
    size_t from = (size_t)outer * strides.x + (size_t)inner * strides.y + y * strides.z + x * strides.w;
    size_t width = gridDim.x * blockDim.x;
    size_t height = gridDim.y * blockDim.y;
    target[x + width * (y + height * z)] = source[from];
}

extern "C" __global__ void copy_flat(const float* __restrict__ source, float* __restrict__ target, unsigned n,
                                     const unsigned* __restrict__ shape, const unsigned* __restrict__ strides,
                                     unsigned dimensions) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned rest = i;
    unsigned from = 0;
    for (unsigned d = 0; d < dimensions; d++) {
        unsigned dimension = dimensions - 1 - d;
        from += (rest % shape[dimension]) * strides[dimension];
        rest /= shape[dimension];
    }
    target[i] = source[from];
}
