// All threads read the same elements, and none writes them.
// launch: --threads 128 --group 64 --arg data=iota:f32:16 --arg out=zeros:f32:128
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void sum_all(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                    uint gid [[thread_position_in_grid]]) {
    float sum = 0.0f;
    for (uint i = 0; i < 16; ++i) {
        sum += data[i];
    }
    out[gid] = sum;
}
