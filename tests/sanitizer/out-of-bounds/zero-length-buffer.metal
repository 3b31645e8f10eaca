// The buffer is bound and has no elements.
// launch: --threads 1 --group 1 --arg out=zeros:f32:0
#include <metal_stdlib>
using namespace metal;

kernel void fill(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1.0f; //~ out-of-bounds
}
