// A table at program scope is constant memory: the index leaves it.
// launch: --threads 8 --group 8 --arg out=zeros:f32:8
#include <metal_stdlib>
using namespace metal;

constant float table[4] = {1.0f, 2.0f, 3.0f, 4.0f};
kernel void look_up(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = table[gid >> 1 == 3 ? 4 : gid >> 1]; //~ out-of-bounds
}
