// The store is in a function called at two places, by two threadgroups.
// launch: --threads 2 --group 1 --arg out=zeros:u32:1
#include <metal_stdlib>
using namespace metal;

void put(device uint *out, uint value) {
    *out = value; //~ race-grid 12
}
kernel void two_calls(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    if (gid == 0) {
        put(out, 5);
    } else {
        put(out, 6);
    }
}
