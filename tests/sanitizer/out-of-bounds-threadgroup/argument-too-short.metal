// The host gave the threadgroup argument half of the bytes that the kernel uses.
// launch: --threads 32 --group 32 --arg out=zeros:f32:32 --threadgroup-memory 0=64
#include <metal_stdlib>
using namespace metal;

kernel void copy(device float *out [[buffer(0)]], threadgroup float *tile [[threadgroup(0)]],
                 uint lid [[thread_position_in_threadgroup]]) {
    tile[lid] = float(lid); //~ out-of-bounds-threadgroup
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[lid & 15];
}
