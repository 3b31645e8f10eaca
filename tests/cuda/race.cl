// Programs with and without races, in OpenCL C.

// Neighbours are read while they are written.
kernel void shift(global int* data) {
    size_t i = get_global_id(0);
    data[i] = data[i + 1];
}

// All work-items write one place.
kernel void same_place(global int* result) {
    result[0] = get_global_id(0);
}

// A work-group's memory is read without a barrier.
kernel void no_barrier(global int* data) {
    local int copy[64];
    size_t i = get_local_id(0);
    copy[i] = data[i];
    data[i] = copy[63 - i];
}

// As `no_barrier`, with one.
kernel void barrier_between(global int* data) {
    local int copy[64];
    size_t i = get_local_id(0);
    copy[i] = data[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[i] = copy[63 - i];
}

// All work-items add to one place, atomically.
kernel void atomic_sum(global int* result) {
    atomic_add(result, (int)get_global_id(0));
}
