// A local array is passed to a function that stays inside.
// launch: --threads 4 --group 4 --arg out=zeros:f32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

float sum_of(thread const float *values, uint count) {
    float sum = 0.0f;
    for (uint i = 0; i < count; ++i) {
        sum += values[i];
    }
    return sum;
}
kernel void local(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float values[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    out[gid] = sum_of(values, 4);
}
