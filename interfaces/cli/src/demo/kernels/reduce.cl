// Sums: each work-group halves 256 partial sums in a tree.
kernel void reduce(global const float* restrict values, global float* restrict partial, uint n) {
    local float shared[256];
    size_t tid = get_local_id(0);
    size_t i = get_global_id(0);
    shared[tid] = i < n ? values[i] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t half_width = get_local_size(0) / 2; half_width > 0; half_width /= 2) {
        if (tid < half_width) {
            shared[tid] += shared[tid + half_width];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (tid == 0) {
        partial[get_group_id(0)] = shared[0];
    }
}
