// The same index, in 64 bits, brought back into the buffer by hand.
// launch: --threads 4 --group 4 --arg out=zeros:u32:4
// options: --enable index-wrap
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void fill(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    ulong row = ulong(gid) << 16;
    out[row * 0x10000ul % 4 + gid] = gid;
}
