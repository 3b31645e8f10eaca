// One buffer needs two barriers a step: the write of the next step races with the reads of this step.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void steps(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    float value = float(lid);
    for (uint step = 0; step < 4; ++step) {
        tile[lid] = value; //~ race-threadgroup 1
        threadgroup_barrier(mem_flags::mem_threadgroup);
        value = tile[lid ^ 32]; //~ race-threadgroup 2
    }
    out[lid] = value;
}
