//! arg r=zeros:i32:4
//! expect r: 1 7 3 4
// Conditionals take the branches for devices, as where CUDA's compiler compiles kernels.
#ifdef __CUDA_ARCH__
#define VALUE 7
#else
#define VALUE 9
#endif
__host__ __device__ int value() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 350
    return 1;
#else
    return 2;
#endif
}
__global__ void k(int* r) {
    r[0] = value();
    r[1] = VALUE;
#if defined(__CUDACC__) && defined(__NVCC__)
    r[2] = 3;
#endif
#if __CUDA_ARCH__ < 600 || CUDART_VERSION < 9000
    r[3] = 5;
#else
    r[3] = 4;
#endif
}
