// Attention without the matrix of scores: each thread owns one query and walks the keys in tiles that the block
// shares. Inputs and output are half, sums float.
#include <cuda_fp16.h>

#define WIDTH 64
#define PARTS (WIDTH / 4)
#define TILE 32

struct __align__(8) Half4 {
    __half2 low;
    __half2 high;
};

__device__ inline float4 widen(Half4 h) {
    float2 low = __half22float2(h.low);
    float2 high = __half22float2(h.high);
    return make_float4(low.x, low.y, high.x, high.y);
}

__device__ inline float4 fma4(float4 a, float4 b, float4 c) {
    return make_float4(fmaf(a.x, b.x, c.x), fmaf(a.y, b.y, c.y), fmaf(a.z, b.z, c.z), fmaf(a.w, b.w, c.w));
}

__device__ inline float4 scaled(float4 a, float s) {
    return make_float4(a.x * s, a.y * s, a.z * s, a.w * s);
}

extern "C" __global__ void attention(const Half4* __restrict__ queries, const Half4* __restrict__ keys,
                                     const Half4* __restrict__ values, Half4* __restrict__ target,
                                     unsigned tokens, float scale) {
    __shared__ float4 key_tile[TILE * PARTS];
    __shared__ float4 value_tile[TILE * PARTS];
    unsigned tid = threadIdx.x;
    unsigned head = blockIdx.y * tokens * PARTS;
    unsigned query = head + (blockIdx.x * blockDim.x + tid) * PARTS;

    float4 q[PARTS];
    float4 sums[PARTS];
    for (int p = 0; p < PARTS; p++) {
        q[p] = scaled(widen(queries[query + p]), scale);
        sums[p] = make_float4(0, 0, 0, 0);
    }
    float greatest = -INFINITY;
    float total = 0;
    for (unsigned first = 0; first < tokens; first += TILE) {
        for (unsigned at = tid; at < TILE * PARTS; at += blockDim.x) {
            key_tile[at] = widen(keys[head + first * PARTS + at]);
            value_tile[at] = widen(values[head + first * PARTS + at]);
        }
        __syncthreads();
        float scores[TILE];
        float tile_greatest = greatest;
        for (int k = 0; k < TILE; k++) {
            float4 products = make_float4(0, 0, 0, 0);
            for (int p = 0; p < PARTS; p++) {
                products = fma4(q[p], key_tile[k * PARTS + p], products);
            }
            scores[k] = products.x + products.y + products.z + products.w;
            tile_greatest = fmaxf(tile_greatest, scores[k]);
        }
        float correction = expf(greatest - tile_greatest);
        greatest = tile_greatest;
        total *= correction;
        for (int p = 0; p < PARTS; p++) {
            sums[p] = scaled(sums[p], correction);
        }
        for (int k = 0; k < TILE; k++) {
            float weight = expf(scores[k] - greatest);
            total += weight;
            for (int p = 0; p < PARTS; p++) {
                sums[p] = fma4(make_float4(weight, weight, weight, weight), value_tile[k * PARTS + p], sums[p]);
            }
        }
        __syncthreads();
    }
    float share = 1.0f / total;
    for (int p = 0; p < PARTS; p++) {
        float4 row = scaled(sums[p], share);
        target[query + p] = Half4{__floats2half2_rn(row.x, row.y), __floats2half2_rn(row.z, row.w)};
    }
}
