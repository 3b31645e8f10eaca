// A matrix of 4-bit weights times a vector of floats; the format is llama.cpp's q4_0. Each 32 work-items take four
// rows; two share a block. A group of 32 is a sub-group where the runtime can make one.
typedef struct {
    half scale;
    uchar weights[16];
} Block;

#define ROWS 4

#if defined(cl_intel_required_subgroup_size) && defined(__opencl_c_subgroups)
#define SUBGROUP __attribute__((intel_reqd_sub_group_size(32)))
#define sum_32(value, shared) sub_group_reduce_add(value)
#else
#define SUBGROUP
float sum_32(float value, local float* shared) {
    size_t tid = get_local_id(0);
    size_t lane = tid % 32;
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[tid] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t width = 16; width > 0; width /= 2) {
        if (lane < width) {
            shared[tid] += shared[tid + width];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return shared[tid - lane];
}
#endif

SUBGROUP kernel void q4_0_vector(global const Block* restrict matrix, global const float* restrict vector,
                                 global float* restrict target, uint columns, uint rows) {
    local float shared[64];
    size_t lane = get_local_id(0) % 32;
    size_t first = get_global_id(0) / 32 * ROWS;
    size_t blocks = columns / 32;
    size_t part = lane % 2 * 8;
    float sums[ROWS] = {0, 0, 0, 0};
    for (size_t block = lane / 2; block < blocks; block += 16) {
        global const float* values = vector + block * 32 + part;
        float low[8];
        float high[8];
        float total = 0;
        for (int j = 0; j < 8; j++) {
            low[j] = values[j];
            high[j] = values[j + 16];
            total += low[j] + high[j];
        }
        for (int r = 0; r < ROWS; r++) {
            global const Block* b = matrix + (first + r) * blocks + block;
            float sum = 0;
            for (int j = 0; j < 8; j++) {
                uchar both = b->weights[part + j];
                sum += low[j] * (float)(both & 15) + high[j] * (float)(both >> 4);
            }
            sums[r] += vload_half(0, &b->scale) * (sum - 8 * total);
        }
    }
    for (int r = 0; r < ROWS; r++) {
        float sum = sum_32(sums[r], shared);
        if (lane == 0 && first + r < rows) {
            target[first + r] = sum;
        }
    }
}
