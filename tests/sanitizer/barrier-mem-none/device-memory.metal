// Device memory, ordered only by a barrier without flags.
// launch: --threads 64 --group 64 --arg data=zeros:f32:64 --arg out=zeros:f32:64
// options: --enable barrier-mem-none
#include <metal_stdlib>
using namespace metal;

kernel void shift(device float *data [[buffer(0)]], device float *out [[buffer(1)]],
                  uint lid [[thread_position_in_threadgroup]]) {
    data[lid] = float(lid); //~ barrier-mem-none 1
    threadgroup_barrier(mem_flags::mem_none);
    out[lid] = data[lid ^ 32]; //~ barrier-mem-none 2
}
