// Device memory is exchanged across a barrier that orders threadgroup memory only.
// launch: --threads 64 --group 64 --arg data=zeros:f32:64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void shift(device float *data [[buffer(0)]], device float *out [[buffer(1)]],
                  uint lid [[thread_position_in_threadgroup]]) {
    data[lid] = float(lid); //~ race-threadgroup 1
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid >= 32) {
        out[lid] = data[lid - 32]; //~ race-threadgroup 2
    }
}
