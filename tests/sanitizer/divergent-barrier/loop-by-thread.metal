// The loop's trip count depends on the thread, and its body has a barrier.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
#include <metal_stdlib>
using namespace metal;

kernel void loop(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    uint value = 0;
    for (uint i = 0; i <= lid % 2; ++i) {
        threadgroup_barrier(mem_flags::mem_threadgroup); //~ divergent-barrier
        value += i;
    }
    out[lid] = value;
}
