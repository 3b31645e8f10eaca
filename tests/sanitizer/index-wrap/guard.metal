// The wrapped value is compared and not used as an index.
// launch: --threads 4 --group 4 --arg data=iota:f32:4 --arg out=zeros:f32:4
// options: --enable index-wrap
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void before(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                   uint gid [[thread_position_in_grid]]) {
    uint index = gid - 1u;
    float value = 0.0f;
    if (index < 4u) {
        value = data[index];
    }
    out[gid] = value;
}
