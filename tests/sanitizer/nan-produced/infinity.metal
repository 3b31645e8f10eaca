// Overflow gives infinity, which is a number's limit and no NaN.
// launch: --threads 1 --group 1 --arg data=f32:3e38 --arg out=zeros:f32:1 --math safe
// options: --enable nan-produced
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void overflow(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                     uint gid [[thread_position_in_grid]]) {
    out[gid] = data[gid] * 10.0f;
}
