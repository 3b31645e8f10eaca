// One threadgroup writes a float4, the next one writes an element inside of it.
// launch: --threads 2 --group 1 --arg out=zeros:f32:4
#include <metal_stdlib>
using namespace metal;

kernel void overlap(device float4 *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    if (gid == 0) {
        out[0] = float4(1.0f, 2.0f, 3.0f, 4.0f); //~ race-grid 1
    } else {
        reinterpret_cast<device float *>(out)[2] = 9.0f; //~ race-grid 2
    }
}
