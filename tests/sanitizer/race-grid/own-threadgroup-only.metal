// Each threadgroup exchanges elements of its own range across a barrier.
// launch: --threads 64 --group 32 --arg data=zeros:u32:64 --arg out=zeros:u32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void shift(device uint *data [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    data[gid] = gid;
    threadgroup_barrier(mem_flags::mem_device);
    out[gid] = data[gid ^ 31];
}
