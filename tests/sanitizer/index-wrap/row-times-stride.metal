// Row times stride leaves 32 bits: the index wraps to a wrong element that exists.
// launch: --threads 1 --group 1 --arg data=iota:f32:4 --arg out=zeros:f32:1
// options: --enable index-wrap
#include <metal_stdlib>
using namespace metal;

kernel void row(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                uint gid [[thread_position_in_grid]]) {
    out[gid] = data[(gid + 65536u) * 65536u]; //~ index-wrap
}
