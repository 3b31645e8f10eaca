// Collectives of CUB: sums, greatest values, scans and exchanges of blocks and warps.
#include <cub/cub.cuh>

struct Longest {
    __device__ __forceinline__ int operator()(const int& a, const int& b) const { return a > b ? a : b; }
};

__device__ int block_sum(int value) {
    using Reduce = cub::BlockReduce<int, 64>;
    __shared__ typename Reduce::TempStorage memory;
    return Reduce(memory).Sum(value);
}

template <int SIZE>
__device__ int block_longest(int value, int valid) {
    typedef cub::BlockReduce<int, SIZE, cub::BLOCK_REDUCE_WARP_REDUCTIONS> BlockReduce;
    __shared__ typename BlockReduce::TempStorage temp;
    return BlockReduce(temp).Reduce(value, Longest(), valid);
}

__global__ void reductions(const int* data, int* result) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = block_sum(data[i]);
    __syncthreads();
    int longest = block_longest<64>(data[i], 50);
    using WarpReduce = cub::WarpReduce<int>;
    __shared__ typename WarpReduce::TempStorage warps[2];
    int least = WarpReduce(warps[threadIdx.x / 32]).Reduce(data[i], cub::Min());
    if (threadIdx.x % 32 == 0) {
        result[blockIdx.x * 8 + threadIdx.x / 32] = least;
    }
    if (threadIdx.x == 0) {
        result[blockIdx.x * 8 + 2] = sum;
        result[blockIdx.x * 8 + 3] = longest;
    }
}

__global__ void scans(const int* data, int* inclusive, int* exclusive) {
    typedef cub::BlockScan<int, 64> BlockScan;
    __shared__ typename BlockScan::TempStorage temp;
    int i = blockIdx.x * blockDim.x + threadIdx.x, own, all;
    BlockScan(temp).InclusiveSum(data[i], own);
    inclusive[i] = own;
    __syncthreads();
    BlockScan(temp).ExclusiveSum(data[i], own, all);
    exclusive[i] = own + 1000 * all;
}

__global__ void pieces(const int* data, int* result, int count) {
    typedef cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_STRIPED> Load;
    typedef cub::BlockScan<int, 64> Scan;
    typedef cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_TRANSPOSE> Store;
    typedef cub::BlockExchange<int, 64, 4> Exchange;
    __shared__ union {
        typename Load::TempStorage load;
        typename Scan::TempStorage scan;
        typename Exchange::TempStorage exchange;
        typename Store::TempStorage store;
    } memory;
    int items[4];
    Load(memory.load).Load(data, items, count, 0);
    __syncthreads();
    Exchange(memory.exchange).StripedToBlocked(items);
    __syncthreads();
    Scan(memory.scan).InclusiveSum(items, items);
    __syncthreads();
    Store(memory.store).Store(result, items, count);
}
