// The index is computed in 64 bits.
// launch: --threads 4 --group 4 --arg data=iota:f32:4 --arg out=zeros:f32:4
// options: --enable index-wrap
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void row(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                uint gid [[thread_position_in_grid]]) {
    ulong big = (ulong(gid) + 65536ul) * 65536ul;
    out[gid] = data[big - 4294967296ul - ulong(gid) * 65536ul + ulong(gid)];
}
