// Each element of the scratch buffer is written before it is read.
// launch: --threads 32 --group 32 --arg scratch=zeros:u32:32 --arg out=zeros:u32:32
// options: --undefined scratch
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void exchange(device uint *scratch [[buffer(0)]], device uint *out [[buffer(1)]],
                     uint gid [[thread_position_in_grid]]) {
    scratch[gid] = gid;
    threadgroup_barrier(mem_flags::mem_device);
    out[gid] = scratch[31 - gid];
}
