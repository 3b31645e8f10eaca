// The accumulator of the loop has no first value.
// launch: --threads 4 --group 4 --arg data=iota:f32:4 --arg out=zeros:f32:4
#include <metal_stdlib>
using namespace metal;

kernel void sum_up(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                   uint gid [[thread_position_in_grid]]) {
    float sum;
    for (uint i = 0; i < 4; ++i) {
        sum += data[i]; //~ uninitialised-private
    }
    out[gid] = sum;
}
