// The shift reads first, passes a barrier for device memory, then writes.
// launch: --threads 32 --group 32 --arg data=iota:u32:33
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void shift(device uint *data [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    uint next = data[gid + 1];
    simdgroup_barrier(mem_flags::mem_device);
    data[gid] = next;
}
