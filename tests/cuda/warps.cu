// Sums, votes and scans of warps and blocks, with pointers to all kinds of memory.
struct Range {
    const int* data;
    int count;

    __device__ int at(int i) const { return i < count ? data[i] : 0; }
};

__device__ int warp_sum(int value) {
    for (int offset = warpSize / 2; offset > 0; offset >>= 1) {
        value += __shfl_down_sync(0xffffffff, value, offset);
    }
    return value;
}

// The sum over the block, in its first thread.
__device__ int block_sum(int value) {
    __shared__ int sums[32];
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    value = warp_sum(value);
    if (lane == 0) {
        sums[warp] = value;
    }
    __syncthreads();
    value = threadIdx.x < blockDim.x / warpSize ? sums[lane] : 0;
    return warp == 0 ? warp_sum(value) : 0;
}

__device__ void add(int* target, const int& value) { *target += value; }

__global__ void sums(const int* data, int count, int* result) {
    const Range range = {data, count};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int own[2] = {0, 1};
    add(own, range.at(i));
    add(&own[1], own[0]);
    int sum = block_sum(own[1] - 1);
    if (threadIdx.x == 0) {
        add(result + blockIdx.x, sum);
    }
}

// An inclusive scan of a block in dynamic memory.
__global__ void scan(const int* input, int* output) {
    extern __shared__ int buffer[];
    int* from = buffer;
    int* to = buffer + blockDim.x;
    from[threadIdx.x] = input[threadIdx.x];
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        to[threadIdx.x] = from[threadIdx.x] + (threadIdx.x >= step ? from[threadIdx.x - step] : 0);
        __syncthreads();
        int* other = from;
        from = to;
        to = other;
    }
    output[threadIdx.x] = from[threadIdx.x];
}

__global__ void votes(const int* input, unsigned* output) {
    bool is_odd = input[threadIdx.x] % 2;
    unsigned odd = __ballot_sync(0xffffffff, is_odd);
    int count = __syncthreads_count(is_odd);
    int any = __any_sync(0xffffffff, input[threadIdx.x] == 70), all = __all_sync(0xffffffff, threadIdx.x < 32);
    int up = __shfl_up_sync(0xffffffff, input[threadIdx.x], 1), swap = __shfl_xor_sync(0xffffffff, input[threadIdx.x], 3, 4);
    if (threadIdx.x % 32 == 1) {
        unsigned* to = output + threadIdx.x / 32 * 6;
        to[0] = odd;
        to[1] = count;
        to[2] = any;
        to[3] = all;
        to[4] = up;
        to[5] = swap;
    }
}

__device__ int arrivals;

__global__ void counters(unsigned* cells) {
    atomicInc(&cells[0], 9);
    atomicMax(&cells[1], threadIdx.x);
    unsigned seen = cells[2], before;
    do {
        before = seen;
        seen = atomicCAS(&cells[2], before, before + 2);
    } while (seen != before);
    if (atomicAdd(&arrivals, 1) == blockDim.x - 1) {
        cells[3] = arrivals;
    }
}
