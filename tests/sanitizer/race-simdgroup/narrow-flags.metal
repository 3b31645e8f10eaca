// The simdgroup_barrier orders device memory only; the accesses are to threadgroup memory.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
#include <metal_stdlib>
using namespace metal;

kernel void exchange(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32];
    tile[lid] = float(lid); //~ race-simdgroup 1
    simdgroup_barrier(mem_flags::mem_device);
    out[lid] = tile[31 - lid]; //~ race-simdgroup 2
}
