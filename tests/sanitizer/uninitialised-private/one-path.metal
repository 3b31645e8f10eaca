// The variable is assigned on one path only, and read on both.
// launch: --threads 4 --group 4 --arg out=zeros:f32:4
#include <metal_stdlib>
using namespace metal;

kernel void paths(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float value;
    if (gid < 2) {
        value = 1.0f;
    }
    out[gid] = value; //~ uninitialised-private
}
