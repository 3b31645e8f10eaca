// The pointer is formed before the start, but each access is inside.
// launch: --threads 31 --group 31 --arg data=iota:f32:32 --arg out=zeros:f32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void difference(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                       uint gid [[thread_position_in_grid]]) {
    device const float *shifted = data + gid + 1;
    out[gid] = shifted[-1] + shifted[0];
}
