// One buffer with a barrier after the writes and one after the reads.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void steps(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    float value = float(lid);
    for (uint step = 0; step < 4; ++step) {
        tile[lid] = value;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        value = tile[(lid + 33) & 63];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[lid] = value;
}
