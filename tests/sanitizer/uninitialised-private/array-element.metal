// The loop leaves out the last element of the array.
// launch: --threads 4 --group 4 --arg out=zeros:f32:4
#include <metal_stdlib>
using namespace metal;

kernel void fill(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float values[4];
    for (uint i = 0; i < 3; ++i) {
        values[i] = float(i);
    }
    out[gid] = values[gid]; //~ uninitialised-private
}
