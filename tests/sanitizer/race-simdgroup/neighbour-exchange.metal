// Threads of a SIMD-group read their neighbour's element. No implicit convergence: a simdgroup_barrier is missing.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
#include <metal_stdlib>
using namespace metal;

kernel void exchange(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32];
    tile[lid] = float(lid); //~ race-simdgroup 1
    out[lid] = tile[lid ^ 1]; //~ race-simdgroup 2
}
