// A function that should give its result by reference does so for even threads only.
// launch: --threads 4 --group 4 --arg out=zeros:u32:4
#include <metal_stdlib>
using namespace metal;

void find(uint gid, thread uint &result) {
    if (gid % 2 == 0) {
        result = gid;
    }
}
kernel void look(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint result;
    find(gid, result);
    out[gid] = result; //~ uninitialised-private
}
