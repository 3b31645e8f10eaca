// The loop has one iteration more than the local array has elements.
// launch: --threads 4 --group 4 --arg out=zeros:f32:4
#include <metal_stdlib>
using namespace metal;

kernel void local(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float values[4];
    for (uint i = 0; i <= 4; ++i) {
        values[i] = float(i); //~ out-of-bounds-private
    }
    out[gid] = values[gid];
}
