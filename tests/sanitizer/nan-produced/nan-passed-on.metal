// The NaN comes from the data: arithmetic passes it on and does not produce it.
// launch: --threads 2 --group 2 --arg data=u32:0x7fc00000,0x3f800000 --arg out=zeros:f32:2 --math safe
// options: --enable nan-produced
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void pass_on(device const uint *data [[buffer(0)]], device float *out [[buffer(1)]],
                    uint gid [[thread_position_in_grid]]) {
    out[gid] = as_type<float>(data[gid]) + 1.0f;
}
