// The tile has room for its halo on both sides.
// launch: --threads 34 --group 34 --arg data=iota:f32:34 --arg out=zeros:f32:34
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void smooth(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                   uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[36];
    tile[lid + 1] = data[lid];
    if (lid == 0) {
        tile[0] = 0.0f;
        tile[35] = 0.0f;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid] + tile[lid + 1] + tile[lid + 2];
}
