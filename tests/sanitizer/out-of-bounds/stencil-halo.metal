// A 2-D stencil reads the column before the first one: the start of the buffer for the first row.
// launch: --threads 8,8 --group 8,8 --arg data=iota:f32:64 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void blur(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                 uint2 gid [[thread_position_in_grid]]) {
    int x = int(gid.x);
    int y = int(gid.y);
    float sum = data[y * 8 + x];
    sum += data[y * 8 + x - 1]; //~ out-of-bounds
    out[y * 8 + x] = sum;
}
