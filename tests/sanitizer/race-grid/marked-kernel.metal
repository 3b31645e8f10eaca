// The attribute of a kernel covers its body.
// launch: --threads 2 --group 1 --arg hint=zeros:u32:1 --arg out=zeros:u32:2
// expect: none
#include <metal_stdlib>
using namespace metal;

[[anymetal::benign_race]]
kernel void stale(device uint *hint [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    out[gid] = hint[0];
    hint[0] = gid + 1;
}
