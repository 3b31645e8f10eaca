// Inclusive prefix sums in three steps: within work-groups of 256, over their totals, added back.
kernel void scan_groups(global const uint* restrict source, global uint* restrict target,
                        global uint* restrict totals, uint n) {
    local uint shared[256];
    size_t i = get_global_id(0);
    uint value = i < n ? source[i] : 0;
    uint within = group_scan(value, shared);
    if (i < n) {
        target[i] = within;
    }
    if (get_local_id(0) == get_local_size(0) - 1) {
        totals[get_group_id(0)] = within;
    }
}

kernel void scan_add(global uint* restrict target, global const uint* restrict totals, uint n) {
    size_t i = get_global_id(0);
    size_t group = get_group_id(0);
    if (i < n && group > 0) {
        target[i] += totals[group - 1];
    }
}
