// A matrix of 4-bit weights times a vector of floats. The format is llama.cpp's q4_0: blocks of 32 weights share
// a half scale; byte j holds weight j in its low half and weight j + 16 in its high half, both biased by 8.
// Each SIMD-group takes four rows; two lanes share a block, and each does half of its bytes.
#include <metal_stdlib>
using namespace metal;

struct Block {
    half scale;
    uchar weights[16];
};

constant constexpr uint ROWS = 4;

kernel void q4_0_vector(device const Block* matrix [[buffer(0)]],
                        device const float* vector [[buffer(1)]],
                        device float* target [[buffer(2)]],
                        constant uint& columns [[buffer(3)]],
                        constant uint& rows [[buffer(4)]],
                        uint group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]],
                        uint simdgroups [[simdgroups_per_threadgroup]]) {
    uint first = (group * simdgroups + simdgroup) * ROWS;
    uint blocks = columns / 32;
    uint part = lane % 2 * 8;
    float sums[ROWS] = {0, 0, 0, 0};
    for (uint block = lane / 2; block < blocks; block += 16) {
        device const float* values = vector + block * 32 + part;
        float low[8];
        float high[8];
        float total = 0;
        for (uint j = 0; j < 8; j++) {
            low[j] = values[j];
            high[j] = values[j + 16];
            total += low[j] + high[j];
        }
        for (uint r = 0; r < ROWS; r++) {
            device const Block& b = matrix[size_t(first + r) * blocks + block];
            float sum = 0;
            for (uint j = 0; j < 8; j++) {
                uchar both = b.weights[part + j];
                sum += low[j] * float(both & 15) + high[j] * float(both >> 4);
            }
            sums[r] += float(b.scale) * (sum - 8 * total);
        }
    }
    for (uint r = 0; r < ROWS; r++) {
        float sum = simd_sum(sums[r]);
        if (lane == 0 && first + r < rows) {
            target[first + r] = sum;
        }
    }
}
