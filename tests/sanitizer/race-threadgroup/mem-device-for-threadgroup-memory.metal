// The barrier's flags say mem_device; threadgroup memory is not ordered.
// launch: --threads 64 --group 64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void shift(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[lid] = float(lid); //~ race-threadgroup 1
    threadgroup_barrier(mem_flags::mem_device);
    if (lid >= 32) {
        out[lid] = tile[lid - 32]; //~ race-threadgroup 2
    }
}
