// The mark says that the race of equal values is meant.
// launch: --threads 64 --group 32 --arg found=zeros:u32:1
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void any_found(device uint *found [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    if (gid % 2 == 1) {
        found[0] = 1; // anymetal: benign race
    }
}
