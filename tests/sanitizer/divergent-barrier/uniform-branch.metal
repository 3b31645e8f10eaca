// The branch depends on the threadgroup only.
// launch: --threads 128 --group 64 --arg out=zeros:u32:128
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void branch(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]],
                   uint group [[threadgroup_position_in_grid]]) {
    if (group == 1) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[gid] = group;
}
