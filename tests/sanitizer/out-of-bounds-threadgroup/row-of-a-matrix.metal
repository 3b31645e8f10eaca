// A negative row of a threadgroup matrix.
// launch: --threads 8 --group 8 --arg out=zeros:f32:8
#include <metal_stdlib>
using namespace metal;

kernel void rows(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[8][4];
    for (uint i = 0; i < 4; ++i) {
        tile[lid][i] = 1.0f;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    int row = int(lid) - 1;
    out[lid] = tile[row][0]; //~ out-of-bounds-threadgroup
}
