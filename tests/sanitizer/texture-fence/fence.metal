// The fence is between write and read; other texels, and a barrier that names textures, need none.
// launch: --threads 32 --group 32 --arg t=texture:r32float:64x1 --arg out=zeros:f32:32
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void texel(texture2d<float, access::read_write> t [[texture(0)]], device float *out [[buffer(0)]],
                  uint i [[thread_position_in_grid]]) {
    t.write(float4(i), uint2(i, 0));
    float other = t.read(uint2(i + 32, 0)).x;
    t.fence();
    out[i] = t.read(uint2(i, 0)).x + other;
    t.write(float4(i), uint2(i, 0));
    threadgroup_barrier(mem_flags::mem_texture | mem_flags::mem_device);
    out[i] += t.read(uint2(i, 0)).x;
}
