// A condition reads a variable that was never assigned.
// launch: --threads 4 --group 4 --arg out=zeros:u32:4
#include <metal_stdlib>
using namespace metal;

kernel void loop(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint steps;
    uint value = 0;
    if (steps > 3) { //~ uninitialised-private
        value = 1;
    }
    out[gid] = value;
}
