// A local array is filled in one loop and read in another of the same length.
// launch: --threads 4 --group 4 --arg n=u32:6 --arg out=zeros:f32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void fill(constant uint &n [[buffer(0)]], device float *out [[buffer(1)]],
                 uint gid [[thread_position_in_grid]]) {
    float values[8];
    for (uint i = 0; i < n; ++i) {
        values[i] = float(i * gid);
    }
    float sum = 0.0f;
    for (uint i = 0; i < n; ++i) {
        sum += values[i];
    }
    out[gid] = sum;
}
