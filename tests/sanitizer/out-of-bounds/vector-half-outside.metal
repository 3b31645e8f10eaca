// The float4 begins inside of the buffer and ends behind it.
// launch: --threads 2 --group 2 --arg data=iota:f32:6 --arg out=zeros:f32:2
#include <metal_stdlib>
using namespace metal;

kernel void sums(device const float4 *data [[buffer(0)]], device float *out [[buffer(1)]],
                 uint gid [[thread_position_in_grid]]) {
    float4 v = data[gid]; //~ out-of-bounds
    out[gid] = v.x + v.y;
}
