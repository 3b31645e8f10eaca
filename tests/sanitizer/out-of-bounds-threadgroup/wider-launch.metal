// The array is made for 32 threads and 64 are launched.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void copy(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32];
    tile[lid] = float(lid); //~ out-of-bounds-threadgroup
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid & 31];
}
