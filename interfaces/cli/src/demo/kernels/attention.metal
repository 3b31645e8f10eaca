// Attention without the matrix of scores: each thread owns one query and walks the keys in tiles that the
// threadgroup shares, rescaling its sums whenever the greatest score rises. Inputs and output are half, sums float.
// Layout: heads, then tokens, then 64 elements; token counts are multiples of 64.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint WIDTH = 64;
constant constexpr uint PARTS = WIDTH / 4;
constant constexpr uint TILE = 32;

kernel void attention(device const half4* queries [[buffer(0)]],
                      device const half4* keys [[buffer(1)]],
                      device const half4* values [[buffer(2)]],
                      device half4* target [[buffer(3)]],
                      constant uint& tokens [[buffer(4)]],
                      constant float& scale [[buffer(5)]],
                      uint2 group [[threadgroup_position_in_grid]],
                      uint tid [[thread_index_in_threadgroup]],
                      uint2 size [[threads_per_threadgroup]]) {
    threadgroup float4 key_tile[TILE * PARTS];
    threadgroup float4 value_tile[TILE * PARTS];
    uint head = group.y * tokens * PARTS;
    uint query = head + (group.x * size.x + tid) * PARTS;

    float4 q[PARTS];
    float4 sums[PARTS];
    for (uint p = 0; p < PARTS; p++) {
        q[p] = float4(queries[query + p]) * scale;
        sums[p] = 0;
    }
    float greatest = -INFINITY;
    float total = 0;
    for (uint first = 0; first < tokens; first += TILE) {
        for (uint at = tid; at < TILE * PARTS; at += size.x) {
            key_tile[at] = float4(keys[head + first * PARTS + at]);
            value_tile[at] = float4(values[head + first * PARTS + at]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float scores[TILE];
        float tile_greatest = greatest;
        for (uint k = 0; k < TILE; k++) {
            float4 products = 0;
            for (uint p = 0; p < PARTS; p++) {
                products = fma(q[p], key_tile[k * PARTS + p], products);
            }
            scores[k] = products.x + products.y + products.z + products.w;
            tile_greatest = max(tile_greatest, scores[k]);
        }
        float correction = exp(greatest - tile_greatest);
        greatest = tile_greatest;
        total *= correction;
        for (uint p = 0; p < PARTS; p++) {
            sums[p] *= correction;
        }
        for (uint k = 0; k < TILE; k++) {
            float weight = exp(scores[k] - greatest);
            total += weight;
            for (uint p = 0; p < PARTS; p++) {
                sums[p] = fma(float4(weight), value_tile[k * PARTS + p], sums[p]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint p = 0; p < PARTS; p++) {
        target[query + p] = half4(sums[p] / total);
    }
}
