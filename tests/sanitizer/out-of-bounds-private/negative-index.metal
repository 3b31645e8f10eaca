// A ring buffer in a local array whose index becomes negative.
// launch: --threads 4 --group 4 --arg out=zeros:f32:4
#include <metal_stdlib>
using namespace metal;

kernel void ring(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float values[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    int index = (int(gid) - 2) % 4;
    out[gid] = values[index]; //~ out-of-bounds-private
}
