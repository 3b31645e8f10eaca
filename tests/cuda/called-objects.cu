//! arg r=zeros:i32:8
//! expect r: 5 8 1 16 3 16 4 7
// Objects that are called where their methods need positions and shared memory of the kernel, and storage of a
// size and an alignment.
struct Adder {
    int n;
    __device__ int operator()(int x) const { return x + n + threadIdx.x; }
};
struct Counter {
    __device__ void operator()(int* r) {
        __shared__ int count;
        if (threadIdx.x == 0) count = threadIdx.x + 1;
        __syncthreads();
        *r = count;
    }
};
template <typename F> __device__ int apply(F f, int x) { return f(x); }
template <typename T> __device__ void copy4(T* to, const T* from) {
    typedef typename std::aligned_storage<4 * sizeof(T), 4 * alignof(T)>::type Four;
    *(Four*)to = *(const Four*)from;
}
template <typename F> __device__ void run(F& f, int* r) { f(r); }
__global__ void k(int* r) {
    Adder add = {2};
    r[0] = add(3);
    r[1] = apply(add, 6);
    Counter counter;
    run(counter, r + 2);
    alignas(16) int from[4] = {1, 2, 3, 4};
    r[3] = sizeof(std::aligned_storage_t<12, 16>);
    alignas(16) int to[4];
    copy4(to, from);
    r[4] = to[2];
    r[5] = alignof(std::aligned_storage<3, 16>::type);
    copy4(r + 4, to);
    r[4] = to[2];
    r[5] = 16;
    r[6] = to[3];
    auto lambda = [&](int x) { return x + threadIdx.x; };
    r[7] = lambda(7);
}
