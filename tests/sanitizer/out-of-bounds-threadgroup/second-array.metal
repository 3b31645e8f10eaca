// The index of the first array reaches into the second one: outside, though the bytes are there.
// launch: --threads 16 --group 16 --arg out=zeros:f32:16
#include <metal_stdlib>
using namespace metal;

kernel void two(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float first[16];
    threadgroup float second[16];
    first[lid] = 1.0f;
    second[lid] = 2.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = first[lid + 16] + second[lid]; //~ out-of-bounds-threadgroup
}
