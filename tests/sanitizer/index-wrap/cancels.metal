// One is taken away first and the row added then: the sum is right.
// launch: --threads 4 --group 4 --arg in=iota:u32:8 --arg out=zeros:u32:4
// options: --enable index-wrap
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void neighbour(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]],
                      uint gid [[thread_position_in_grid]]) {
    uint left = gid - 1;
    out[gid] = in[left + 4];
}
