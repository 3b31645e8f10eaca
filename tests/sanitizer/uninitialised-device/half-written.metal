// Even elements are written; all are read after a barrier.
// launch: --threads 32 --group 32 --arg scratch=zeros:u32:32 --arg out=zeros:u32:32
// options: --undefined scratch
#include <metal_stdlib>
using namespace metal;

kernel void even(device uint *scratch [[buffer(0)]], device uint *out [[buffer(1)]],
                 uint gid [[thread_position_in_grid]]) {
    if (gid % 2 == 0) {
        scratch[gid] = gid;
    }
    threadgroup_barrier(mem_flags::mem_device);
    out[gid] = scratch[gid]; //~ uninitialised-device
}
