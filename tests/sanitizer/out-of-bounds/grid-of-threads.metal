// A grid given in threads has a partial last threadgroup: no thread is past the end.
// launch: --threads 70 --group 32 --arg out=zeros:f32:70
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void fill(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1.0f;
}
