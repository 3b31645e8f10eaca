// A barrier in a case of a switch over a value that is the same for the threadgroup.
// launch: --threads 128 --group 64 --arg out=zeros:u32:128
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void cases(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]],
                  uint group [[threadgroup_position_in_grid]]) {
    switch (group) {
    case 0:
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[gid] = 1;
        break;
    default:
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[gid] = 2;
        break;
    }
}
