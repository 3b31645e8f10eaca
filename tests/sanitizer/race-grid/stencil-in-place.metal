// A stencil in place reads the halo that the neighbouring threadgroup writes.
// launch: --threads 64 --group 1 --arg data=iota:f32:66
#include <metal_stdlib>
using namespace metal;

kernel void smooth(device float *data [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    float left = data[gid]; //~ race-grid 2
    float right = data[gid + 2]; //~ race-grid b1
    data[gid + 1] = left + right; //~ race-grid 1 //~ race-grid b2
}
