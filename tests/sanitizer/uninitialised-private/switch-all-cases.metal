// Every case of the switch and its default assign the variable.
// launch: --threads 4 --group 4 --arg out=zeros:u32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void cases(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint value;
    switch (gid) {
    case 0: value = 5; break;
    case 1: value = 6; break;
    default: value = 7; break;
    }
    out[gid] = value;
}
