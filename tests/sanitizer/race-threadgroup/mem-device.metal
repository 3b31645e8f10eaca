// With mem_device the barrier orders device memory within the threadgroup.
// launch: --threads 64 --group 64 --arg data=zeros:f32:64 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void shift(device float *data [[buffer(0)]], device float *out [[buffer(1)]],
                  uint lid [[thread_position_in_threadgroup]]) {
    data[lid] = float(lid);
    threadgroup_barrier(mem_flags::mem_device);
    out[lid] = data[63 - lid];
}
