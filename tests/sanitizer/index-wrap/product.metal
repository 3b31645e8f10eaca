// The product of row and pitch has more than 32 bits; what is left of it is inside of the buffer.
// launch: --threads 4 --group 4 --arg out=zeros:u32:4
// options: --enable index-wrap
#include <metal_stdlib>
using namespace metal;

kernel void fill(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint row = gid << 16;
    uint pitch = 0x10000;
    out[row * pitch + gid] = gid; //~ index-wrap
}
