//! arg r=zeros:i32:12
//! expect r: 1 3 4 1073741824 7 30 5 12 2 9 6 8
// Macros that cast to pointers, declare them, or define functions and kernels: each use has address spaces of its
// own. Branches for hosts and other architectures declare nothing.
#define BITS(v) ((unsigned int*)((void*)(&(v))))
#define PAIR(x) (reinterpret_cast<int2*>(&(x))[0])
#define INT(x) (reinterpret_cast<const int&>(x))
#define WALK(name, from) \
    int* name = (from);  \
    name++;
#define ELEMENT(a, i) (a)[i]
#define FIRST(T, p) (*(const T*)(p))
#define OPERATION(name, op) \
    __device__ int name##_of(int* a, int b) { return *a op b; }
#define KERNEL(name)                                                \
    __global__ void name(int* r) {                                  \
        __shared__ float tile[4];                                   \
        tile[1] = 2.0f;                                             \
        body(r, tile);                                              \
    }
OPERATION(sum, +)
OPERATION(product, *)
__device__ void body(int* r, float* tile) {
#if __CUDA_ARCH__ < 130
    float* words = r;
#elif defined(__CUDA_ARCH__)
    int words[4] = {1, 2, 3, 4};
#else
    int* words = host();
#endif
#ifndef __CUDACC__
    double* words;
#endif
    __shared__ int shared[2];
    shared[0] = 10;
    shared[1] = 20;
    r[0] = *BITS(words[0]);
    r[1] = PAIR(words[2]).x;
    r[2] = PAIR(words[2]).y;
    r[3] = *BITS(tile[1]);
    r[4] = 7;
    PAIR(r[10]).x = 6;
    PAIR(r[10]).y = 8;
    float two = 2.0f;
    r[5] = INT(tile[1]) == INT(two) ? shared[0] + shared[1] : 0;
    WALK(p, &ELEMENT(r, 3))
    *p -= 2;
    r[6] = *p;
    *p = 7;
    WALK(q, shared)
    r[7] = sum_of(q, -8);
    r[8] = product_of(&ELEMENT(words, 0), FIRST(int, words + 1));
    r[9] = FIRST(int, BITS(words[3])) + 5;
}
KERNEL(k)
