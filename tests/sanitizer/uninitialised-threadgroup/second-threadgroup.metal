// Only the first threadgroup writes the variable; each threadgroup has its own.
// launch: --threads 64 --group 32 --arg out=zeros:u32:64
#include <metal_stdlib>
using namespace metal;

kernel void once(device uint *out [[buffer(0)]], uint lid [[thread_position_in_threadgroup]],
                 uint gid [[thread_position_in_grid]]) {
    threadgroup uint value;
    if (gid == 0) {
        value = 3;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[gid] = value; //~ uninitialised-threadgroup
}
