// All threads of a threadgroup return: none waits.
// launch: --threads 128 --group 32 --arg out=zeros:f32:128
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void groups(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]],
                   uint group [[threadgroup_position_in_grid]]) {
    if (group > 1) {
        return;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[gid] = 1.0f;
}
