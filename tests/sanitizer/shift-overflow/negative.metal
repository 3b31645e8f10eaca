// A negative shift distance.
// launch: --threads 4 --group 4 --arg out=zeros:i32:4
// options: --enable shift-overflow
#include <metal_stdlib>
using namespace metal;

kernel void mask(device int *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 64 >> (int(gid) - 1); //~ shift-overflow
}
