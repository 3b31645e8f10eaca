// A pointer that is null on one path is read on it.
// launch: --threads 4 --group 4 --arg data=iota:f32:4 --arg out=zeros:f32:4
#include <metal_stdlib>
using namespace metal;

kernel void choose(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                   uint gid [[thread_position_in_grid]]) {
    device const float *source = gid < 3 ? data : nullptr;
    out[gid] = source[gid]; //~ null-access
}
