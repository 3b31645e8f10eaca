// The index comes out of a function and through a variable that a branch assigns.
// launch: --threads 4 --group 4 --arg out=zeros:u32:4
// options: --enable index-wrap
#include <metal_stdlib>
using namespace metal;

uint place(uint row, uint column) {
    return row * 0x80000000u + column; //~ index-wrap
}

kernel void fill(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint at = gid;
    if (gid == 2)
        at = place(gid, 2);
    out[at] = gid;
}
