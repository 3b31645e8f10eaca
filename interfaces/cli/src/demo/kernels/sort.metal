// One step of a bitonic sort of 2^k keys.
#include <metal_stdlib>
using namespace metal;

kernel void bitonic_step(device uint* keys [[buffer(0)]],
                         constant uint& block [[buffer(1)]],
                         constant uint& stride [[buffer(2)]],
                         uint i [[thread_position_in_grid]]) {
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
