// A threadgroup_barrier orders one threadgroup; the element of the other threadgroup is not ordered.
// launch: --threads 64 --group 32 --arg data=zeros:u32:64 --arg out=zeros:u32:64
#include <metal_stdlib>
using namespace metal;

kernel void shift(device uint *data [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    data[gid] = gid; //~ race-grid 1
    threadgroup_barrier(mem_flags::mem_device);
    if (gid >= 32) {
        out[gid] = data[gid - 32]; //~ race-grid 2
    }
}
