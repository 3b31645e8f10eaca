// A uchar index of zero minus one is 255: outside of 100 elements.
// launch: --threads 1 --group 1 --arg data=zeros:f32:100 --arg out=zeros:f32:1
#include <metal_stdlib>
using namespace metal;

kernel void last(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                 uint gid [[thread_position_in_grid]]) {
    uchar index = uchar(gid);
    index -= 1;
    out[0] = data[index]; //~ out-of-bounds
}
