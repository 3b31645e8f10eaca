// A function's local variable does not keep the value of the call before.
// launch: --threads 4 --group 4 --arg out=zeros:u32:4
#include <metal_stdlib>
using namespace metal;

uint remember(uint value, bool set) {
    uint kept;
    if (set) {
        kept = value;
    }
    return kept; //~ uninitialised-private
}
kernel void twice(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint first = remember(gid, true);
    out[gid] = first + remember(gid, false);
}
