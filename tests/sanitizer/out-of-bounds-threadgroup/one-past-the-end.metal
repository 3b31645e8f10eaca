// The last thread reads its right neighbour's element, which the array does not have.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
#include <metal_stdlib>
using namespace metal;

kernel void shift(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32];
    tile[lid] = float(lid);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid + 1]; //~ out-of-bounds-threadgroup
}
