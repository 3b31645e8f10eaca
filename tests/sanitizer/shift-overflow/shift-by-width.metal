// A shift of 32 bits by 32.
// launch: --threads 4 --group 4 --arg out=zeros:u32:4
// options: --enable shift-overflow
#include <metal_stdlib>
using namespace metal;

kernel void mask(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1u << (gid + 29); //~ shift-overflow
}
