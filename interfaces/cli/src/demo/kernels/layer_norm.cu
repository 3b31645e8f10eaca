// Layer normalisation of rows of up to four elements a thread: one block a row, float4 loads, warp sums.
extern "C" __global__ void layer_norm(const float4* __restrict__ source, float4* __restrict__ target,
                                      const float4* __restrict__ weight, const float4* __restrict__ bias,
                                      unsigned columns, float epsilon) {
    __shared__ float sums[32];
    __shared__ float squares[32];
    unsigned tid = threadIdx.x;
    size_t row = (size_t)blockIdx.x * (columns / 4);
    bool inside = 4 * tid < columns;

    float4 d = inside ? source[row + tid] : make_float4(0, 0, 0, 0);
    float mean = block_sum(d.x + d.y + d.z + d.w, sums) / columns;
    if (inside) {
        d = make_float4(d.x - mean, d.y - mean, d.z - mean, d.w - mean);
    }
    float variance = block_sum(d.x * d.x + d.y * d.y + d.z * d.z + d.w * d.w, squares) / columns;
    float scale = rsqrtf(variance + epsilon);
    if (inside) {
        float4 w = weight[tid];
        float4 b = bias[tid];
        target[row + tid] = make_float4(fmaf(d.x * scale, w.x, b.x), fmaf(d.y * scale, w.y, b.y),
                                        fmaf(d.z * scale, w.z, b.z), fmaf(d.w * scale, w.w, b.w));
    }
}
