// One step of a bitonic sort of 2^k keys.
extern "C" __global__ void bitonic_step(unsigned* keys, unsigned block, unsigned stride) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned low = 2 * i - (i & (stride - 1));
    unsigned high = low + stride;
    bool ascending = (low & block) == 0;
    unsigned a = keys[low];
    unsigned b = keys[high];
    if ((a > b) == ascending) {
        keys[low] = b;
        keys[high] = a;
    }
}
