// One step of a bitonic sort of 2^k keys.
kernel void bitonic_step(global uint* keys, uint block, uint stride) {
    uint i = get_global_id(0);
    uint low = 2 * i - (i & (stride - 1));
    uint high = low + stride;
    bool ascending = (low & block) == 0;
    uint a = keys[low];
    uint b = keys[high];
    if ((a > b) == ascending) {
        keys[low] = b;
        keys[high] = a;
    }
}
