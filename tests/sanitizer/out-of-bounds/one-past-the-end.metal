// The grid has one thread more than the buffer has elements.
// launch: --threads 33 --group 33 --arg out=zeros:f32:32
#include <metal_stdlib>
using namespace metal;

kernel void fill(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1.0f; //~ out-of-bounds
}
