// Two buffers in turns need one barrier a step: a step writes the buffer that was read before the last barrier.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void steps(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[2][64];
    float value = float(lid);
    for (uint step = 0; step < 4; ++step) {
        tile[step & 1][lid] = value;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        value = tile[step & 1][(lid + 33) & 63];
    }
    out[lid] = value;
}
