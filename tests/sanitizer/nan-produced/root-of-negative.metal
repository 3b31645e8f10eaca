// The square root of a negative number.
// launch: --threads 4 --group 4 --arg data=f32:4,1,-1,0 --arg out=zeros:f32:4 --math safe
// options: --enable nan-produced
#include <metal_stdlib>
using namespace metal;

kernel void root(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                 uint gid [[thread_position_in_grid]]) {
    out[gid] = sqrt(data[gid]); //~ nan-produced
}
