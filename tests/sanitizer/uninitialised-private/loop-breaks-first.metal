// The variable is assigned in the loop's body after a break that some threads take at once.
// launch: --threads 4 --group 4 --arg out=zeros:u32:4
#include <metal_stdlib>
using namespace metal;

kernel void search(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint last;
    for (uint i = 0; i < 4; ++i) {
        if (i == gid) {
            break;
        }
        last = i;
    }
    out[gid] = last; //~ uninitialised-private
}
