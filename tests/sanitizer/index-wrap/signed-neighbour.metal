// The signed index is -1 before the guard, which is no wrap.
// launch: --threads 4 --group 4 --arg in=iota:u32:4 --arg out=zeros:u32:4
// options: --enable index-wrap
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void shift(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    int left = int(gid) - 1;
    left = max(left, 0);
    out[gid] = in[left];
}
