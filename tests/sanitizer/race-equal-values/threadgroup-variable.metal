// Every thread writes the same value to a threadgroup variable.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void scale(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float factor;
    factor = 0.5f; //~ race-equal-values 12
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = factor * float(lid);
}
