// A partial initialiser sets the remaining elements to zero.
// launch: --threads 4 --group 4 --arg out=zeros:f32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void fill(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float values[4] = {1.0f};
    out[gid] = values[gid];
}
