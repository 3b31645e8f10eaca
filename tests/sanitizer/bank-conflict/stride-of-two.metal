// A stride of two words puts two lanes into each bank that is used.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32
// options: --enable bank-conflict
#include <metal_stdlib>
using namespace metal;

kernel void stride(device float *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[lid] = 0.0f;
    tile[lid + 32] = 1.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid * 2]; //~ bank-conflict
}
