// A signed product overflows; the sum with the column is inside of the buffer.
// launch: --threads 4 --group 4 --arg out=zeros:i32:4
// options: --enable index-wrap
#include <metal_stdlib>
using namespace metal;

kernel void fill(device int *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    int row = int(gid) * 0x10000;
    int start = row * 0x10000; //~ index-wrap
    out[start + int(gid)] = row;
}
