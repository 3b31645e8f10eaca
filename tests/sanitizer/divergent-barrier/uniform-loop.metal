// The trip count is the same for all threads.
// launch: --threads 64 --group 64 --arg out=zeros:u32:64 --arg steps=u32:5
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void loop(device uint *out [[buffer(0)]], constant uint &steps [[buffer(1)]],
                 uint lid [[thread_position_in_threadgroup]]) {
    uint value = 0;
    for (uint i = 0; i < steps; ++i) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        value += i;
    }
    out[lid] = value;
}
