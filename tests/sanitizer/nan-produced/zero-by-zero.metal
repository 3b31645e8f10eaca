// Zero divided by zero, in a normalisation of an empty row.
// launch: --threads 2 --group 2 --arg data=f32:3,0 --arg out=zeros:f32:2 --math safe
// options: --enable nan-produced
#include <metal_stdlib>
using namespace metal;

kernel void normalise(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                      uint gid [[thread_position_in_grid]]) {
    out[gid] = data[gid] / data[gid]; //~ nan-produced
}
