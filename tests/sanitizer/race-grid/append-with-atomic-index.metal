// An atomic counter gives each thread an element of its own.
// launch: --threads 128 --group 32 --arg count=zeros:u32:1 --arg out=zeros:u32:128
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void append(device atomic_uint *count [[buffer(0)]], device uint *out [[buffer(1)]],
                   uint gid [[thread_position_in_grid]]) {
    if (gid % 3 == 0) {
        uint index = atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
        out[index] = gid;
    }
}
