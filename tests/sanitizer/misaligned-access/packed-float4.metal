// A packed_float4 needs the alignment of a float only.
// launch: --threads 4 --group 4 --arg data=zeros:f32:16 --arg out=zeros:f32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void windows(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                    uint gid [[thread_position_in_grid]]) {
    packed_float4 v = *reinterpret_cast<device const packed_float4 *>(data + gid);
    out[gid] = v[0] + v[3];
}
