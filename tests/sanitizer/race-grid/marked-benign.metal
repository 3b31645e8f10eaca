// A hint that may be stale is read and written without order, on purpose: the marks say so.
// launch: --threads 2 --group 1 --arg hint=zeros:u32:1 --arg out=zeros:u32:2
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void stale(device uint *hint [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    // anymetal: benign race
    out[gid] = hint[0];
    hint[0] = gid + 1; // anymetal: benign race
}
