// The mask of n bits by (1 << n) - 1 fails for n = 32.
// launch: --threads 33 --group 33 --arg out=zeros:u32:33
// options: --enable shift-overflow
#include <metal_stdlib>
using namespace metal;

kernel void mask(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = (1u << gid) - 1u; //~ shift-overflow
}
