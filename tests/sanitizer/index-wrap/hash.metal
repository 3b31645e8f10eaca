// A hash wraps on purpose; the index is its top bits, which cannot leave the table.
// launch: --threads 16 --group 16 --arg data=iota:f32:16 --arg out=zeros:f32:16
// options: --enable index-wrap
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void hash(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                 uint gid [[thread_position_in_grid]]) {
    uint h = (gid + 1u) * 2654435761u;
    out[gid] = data[h >> 28];
}
