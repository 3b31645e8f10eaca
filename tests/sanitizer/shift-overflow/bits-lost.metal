// Bits shifted out on the left are lost; the distance is in range.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
// options: --enable shift-overflow
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void shift(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 0xffffu << gid;
}
