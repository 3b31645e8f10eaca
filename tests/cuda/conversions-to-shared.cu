//! arg r=zeros:i32:6
//! threadgroup-memory 0=64
//! expect r: 6 6 9 4 4 7
// Objects that convert to dynamic shared memory, the methods of specialisations of which one has no memory, and
// groups of a size that the source computes.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
template <class T> struct SharedMemory {
    __device__ inline operator T*() {
        extern __shared__ int __smem[];
        return (T*)__smem;
    }
    __device__ inline operator const T*() const {
        extern __shared__ int __smem[];
        return (T*)__smem;
    }
};
template <> struct SharedMemory<unsigned> {
    __device__ inline operator unsigned*() {
        extern __shared__ unsigned __smem_u[];
        return __smem_u;
    }
};
template <class T> struct Numbers {
    __device__ T* get() { return NULL; }
};
template <> struct Numbers<int> {
    __device__ int* get() {
        extern __shared__ int numbers[];
        return numbers;
    }
};
template <typename T> __device__ T twice(T x) {
    T* kept = SharedMemory<T>();
    kept[1] = x;
    return 2 * kept[1];
}
__device__ int size_of(cg::thread_group group) {
    group.sync();
    return group.size();
}
__global__ void k(int* r) {
    int* shared = SharedMemory<int>();
    shared[0] = 6;
    r[0] = shared[0];
    float* floats = SharedMemory<float>();
    r[1] = *(int*)floats;
    r[2] = twice(3) + int(twice(1.5f));
    Numbers<int> numbers;
    int* all = numbers.get();
    all[2] = 4;
    r[3] = shared[2];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_group tile = cg::tiled_partition(block, 4);
    r[4] = size_of(tile) + tile.thread_rank();
    unsigned* words = SharedMemory<unsigned>();
    r[5] = words[0] + 1;
}
