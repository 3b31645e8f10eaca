// Collective operations of a work-group: the language's own where the runtime has them, else trees in
// local memory. Every work-item calls them; `shared` has an element for each.
#if defined(__opencl_c_work_group_collective_functions)
#define group_max(value, shared) work_group_reduce_max(value)
#define group_sum(value, shared) work_group_reduce_add(value)
#define group_scan(value, shared) work_group_scan_inclusive_add(value)
#else
float group_max(float value, local float* shared) {
    size_t tid = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[tid] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t width = get_local_size(0) / 2; width > 0; width /= 2) {
        if (tid < width) {
            shared[tid] = fmax(shared[tid], shared[tid + width]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return shared[0];
}

float group_sum(float value, local float* shared) {
    size_t tid = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[tid] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t width = get_local_size(0) / 2; width > 0; width /= 2) {
        if (tid < width) {
            shared[tid] += shared[tid + width];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return shared[0];
}

uint group_scan(uint value, local uint* shared) {
    size_t tid = get_local_id(0);
    shared[tid] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t offset = 1; offset < get_local_size(0); offset *= 2) {
        uint before = tid >= offset ? shared[tid - offset] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[tid] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return shared[tid];
}
#endif
