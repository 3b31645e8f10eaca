// Attention without the matrix of scores: each work-item owns one query and walks the keys in tiles that the
// work-group shares. Inputs and output are half, read and written through vload and vstore, sums float.
#define WIDTH 64
#define PARTS (WIDTH / 4)
#define TILE 32

kernel void attention(global const half* restrict queries, global const half* restrict keys,
                      global const half* restrict values, global half* restrict target, uint tokens, float scale) {
    local float4 key_tile[TILE * PARTS];
    local float4 value_tile[TILE * PARTS];
    size_t tid = get_local_id(0);
    size_t head = get_group_id(1) * tokens * PARTS;
    size_t query = head + get_global_id(0) * PARTS;

    float4 q[PARTS];
    float4 sums[PARTS];
    for (int p = 0; p < PARTS; p++) {
        q[p] = vload_half4(query + p, queries) * scale;
        sums[p] = (float4)(0);
    }
    float greatest = -INFINITY;
    float total = 0;
    for (size_t first = 0; first < tokens; first += TILE) {
        for (size_t at = tid; at < TILE * PARTS; at += get_local_size(0)) {
            key_tile[at] = vload_half4(head + first * PARTS + at, keys);
            value_tile[at] = vload_half4(head + first * PARTS + at, values);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        float scores[TILE];
        float tile_greatest = greatest;
        for (int k = 0; k < TILE; k++) {
            float4 products = (float4)(0);
            for (int p = 0; p < PARTS; p++) {
                products = fma(q[p], key_tile[k * PARTS + p], products);
            }
            scores[k] = products.x + products.y + products.z + products.w;
            tile_greatest = fmax(tile_greatest, scores[k]);
        }
        float correction = exp(greatest - tile_greatest);
        greatest = tile_greatest;
        total *= correction;
        for (int p = 0; p < PARTS; p++) {
            sums[p] *= correction;
        }
        for (int k = 0; k < TILE; k++) {
            float weight = exp(scores[k] - greatest);
            total += weight;
            for (int p = 0; p < PARTS; p++) {
                sums[p] = fma((float4)(weight), value_tile[k * PARTS + p], sums[p]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int p = 0; p < PARTS; p++) {
        vstore_half4(sums[p] / total, query + p, target);
    }
}
