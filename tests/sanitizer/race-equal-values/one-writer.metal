// One thread alone writes the flag.
// launch: --threads 64 --group 32 --arg found=zeros:u32:1
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void any_found(device uint *found [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    bool here = simd_any(gid == 17);
    if (here && gid % 32 == 0) {
        found[0] = 1;
    }
}
