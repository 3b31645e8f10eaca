// A float4 needs an address that is a multiple of 16; this one is at every float.
// launch: --threads 4 --group 4 --arg data=zeros:f32:16 --arg out=zeros:f32:4
#include <metal_stdlib>
using namespace metal;

kernel void windows(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                    uint gid [[thread_position_in_grid]]) {
    float4 v = *reinterpret_cast<device const float4 *>(data + gid); //~ misaligned-access
    out[gid] = v.x + v.w;
}
