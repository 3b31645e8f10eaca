//! arg r=zeros:f32:4
//! double float
//! expect r: 7 7 -2 5
// Atomics that a source defines for `double`, which are there for `float`.
__device__ double atomicMax(double* address, double value) {
    unsigned long long* bits = (unsigned long long*)address;
    unsigned long long old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(fmax(value, __longlong_as_double(assumed))));
    } while (assumed != old);
    return __longlong_as_double(old);
}
__device__ double atomicMin(double* address, double value) {
    unsigned long long* bits = (unsigned long long*)address;
    return __longlong_as_double(atomicCAS(bits, 0ull, __double_as_longlong(value)));
}
__global__ void k(float* r) {
    __shared__ double most;
    most = 1;
    atomicMax(&most, 7.0);
    atomicMax(&most, -3.0);
    r[0] = most;
    r[1] = atomicMin(&most, -2.0);
    r[2] = most;
    __shared__ int number;
    number = 9;
    atomicMin(&number, 5);
    r[3] = number;
}
