// All threadgroups write the same value to a flag: undefined by the specification, harmless on Apple's GPUs.
// launch: --threads 64 --group 1 --arg found=zeros:u32:1
#include <metal_stdlib>
using namespace metal;

kernel void any_found(device uint *found [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    if (gid % 2 == 1) {
        found[0] = 1; //~ race-equal-values 12
    }
}
