// mem_device | mem_threadgroup orders both memories with one barrier.
// launch: --threads 64 --group 64 --arg data=zeros:f32:64 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void both(device float *data [[buffer(0)]], device float *out [[buffer(1)]],
                 uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    data[lid] = float(lid);
    tile[lid] = 1.0f;
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    out[lid] = data[63 - lid] + tile[63 - lid];
}
