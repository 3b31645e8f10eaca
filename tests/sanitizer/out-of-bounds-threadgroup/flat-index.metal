// A matrix accessed through a pointer to its first element: each index is inside of the whole array.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void flat(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[8][4];
    threadgroup float *elements = &tile[0][0];
    elements[lid] = float(lid);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid / 4][lid % 4];
}
