// The attribute of each statement says that its races are meant; other compilers ignore it.
// launch: --threads 2 --group 1 --arg hint=zeros:u32:1 --arg out=zeros:u32:2
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void stale(device uint *hint [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    [[anymetal::benign_race]] out[gid] = hint[0];
    [[anymetal::benign_race]]
    hint[0] =
        gid + 1;
}
