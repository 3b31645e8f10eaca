// Layer normalisation of rows of up to four elements a work-item: one work-group a row, float4 loads.
kernel void layer_norm(global const float4* restrict source, global float4* restrict target,
                       global const float4* restrict weight, global const float4* restrict bias, uint columns,
                       float epsilon) {
    local float shared[256];
    size_t tid = get_local_id(0);
    size_t row = get_group_id(0) * (columns / 4);
    bool inside = 4 * tid < columns;

    float4 value = inside ? source[row + tid] : (float4)(0);
    float mean = group_sum(value.x + value.y + value.z + value.w, shared) / columns;
    float4 d = inside ? value - mean : (float4)(0);
    float variance = group_sum(dot(d, d), shared) / columns;
    float scale = rsqrt(variance + epsilon);
    if (inside) {
        target[row + tid] = d * scale * weight[tid] + bias[tid];
    }
}
