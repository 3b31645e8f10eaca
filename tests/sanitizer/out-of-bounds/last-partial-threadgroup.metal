// Whole threadgroups are launched and the kernel has no guard.
// launch: --groups 3 --group 32 --arg out=zeros:f32:70
#include <metal_stdlib>
using namespace metal;

kernel void fill(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1.0f; //~ out-of-bounds
}
