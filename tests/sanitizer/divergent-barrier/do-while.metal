// The loop ends when the thread's own value is large enough: some threads leave before the others.
// launch: --threads 32 --group 32 --arg out=zeros:u32:32
#include <metal_stdlib>
using namespace metal;

kernel void grow(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]]) {
    uint value = lid + 1;
    do {
        threadgroup_barrier(mem_flags::mem_threadgroup); //~ divergent-barrier
        value *= 2;
    } while (value < 32);
    out[lid] = value;
}
