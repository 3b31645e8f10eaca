// Counts bytes in 256 bins: each work-group counts in its own memory, then adds to the total.
kernel void histogram(global const uchar* restrict values, global uint* restrict bins, uint n) {
    local uint local_bins[256];
    size_t tid = get_local_id(0);
    size_t width = get_local_size(0);
    for (size_t bin = tid; bin < 256; bin += width) {
        local_bins[bin] = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t at = get_global_id(0); at < n; at += get_global_size(0)) {
        atomic_inc(&local_bins[values[at]]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t bin = tid; bin < 256; bin += width) {
        atomic_add(&bins[bin], local_bins[bin]);
    }
}
