// exp overflows to infinity; the difference of two infinities is a NaN.
// launch: --threads 1 --group 1 --arg data=f32:100 --arg out=zeros:f32:1 --math safe
// options: --enable nan-produced
#include <metal_stdlib>
using namespace metal;

kernel void difference(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                       uint gid [[thread_position_in_grid]]) {
    float large = exp(data[gid]);
    out[gid] = large - large; //~ nan-produced
}
