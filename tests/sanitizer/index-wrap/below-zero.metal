// One less than 0 is no index; the access is outside of the buffer, too.
// launch: --threads 4 --group 4 --arg in=iota:u32:4 --arg out=zeros:u32:4
// options: --enable index-wrap
#include <metal_stdlib>
using namespace metal;

kernel void shift(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    out[gid] = in[gid - 1]; //~ index-wrap //~ out-of-bounds
}
