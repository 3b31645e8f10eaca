// Each thread writes and reads its own element again and again: program order is enough.
// launch: --threads 128 --group 64 --arg data=zeros:f32:128
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void own(device float *data [[buffer(0)]], uint gid [[thread_position_in_grid]],
                uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    for (uint i = 0; i < 4; ++i) {
        tile[lid] = float(i);
        tile[lid] += 1.0f;
        data[gid] += tile[lid];
    }
}
