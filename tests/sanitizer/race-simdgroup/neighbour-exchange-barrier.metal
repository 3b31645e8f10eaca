// The same exchange with simdgroup_barrier(mem_threadgroup), which orders the threads of one SIMD-group.
// launch: --threads 128 --group 128 --arg out=zeros:f32:128
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void exchange(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[128];
    tile[lid] = float(lid);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid ^ 1];
}
