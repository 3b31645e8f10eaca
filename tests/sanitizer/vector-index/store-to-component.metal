// A store to a component that a uint2 does not have.
// launch: --threads 3 --group 3 --arg out=zeros:u32:3
#include <metal_stdlib>
using namespace metal;

kernel void component(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint2 v = uint2(0, 0);
    v[gid] = 7; //~ vector-index
    out[gid] = v.x + v.y;
}
