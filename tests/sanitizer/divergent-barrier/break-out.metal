// Threads leave the loop at different iterations, before its barrier.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
#include <metal_stdlib>
using namespace metal;

kernel void leave(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    uint value = 0;
    for (uint i = 0; i < 4; ++i) {
        if (i == 2 && lid > 20) {
            break;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup); //~ divergent-barrier
        value += i;
    }
    out[lid] = value;
}
