// The comment allows the kind that it names, for the next line of code.
// launch: --threads 4 --group 4 --arg out=zeros:u32:3
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void fill(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    // anymetal: allow(out-of-bounds): the store of the last thread is dropped
    out[gid] = gid;
}
