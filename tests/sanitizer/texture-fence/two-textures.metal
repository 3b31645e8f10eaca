// The texels are of two textures.
// launch: --threads 32 --group 32 --arg t=texture:r32float:32x1 --arg u=texture:r32float:32x1 --arg out=zeros:f32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void texel(texture2d<float, access::read_write> t [[texture(0)]],
                  texture2d<float, access::read_write> u [[texture(1)]], device float *out [[buffer(0)]],
                  uint i [[thread_position_in_grid]]) {
    t.write(float4(i), uint2(i, 0));
    out[i] = u.read(uint2(i, 0)).x;
}
