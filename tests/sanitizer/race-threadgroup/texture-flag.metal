// A barrier that names textures orders texels that other threads wrote; it need not name device memory.
// launch: --threads 64 --group 64 --arg t=texture:r32float:64x1 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void turn(texture2d<float, access::read_write> t [[texture(0)]], device float *out [[buffer(0)]],
                 uint i [[thread_position_in_grid]]) {
    t.write(float4(i), uint2(i, 0));
    threadgroup_barrier(mem_flags::mem_texture);
    out[i] = t.read(uint2(63 - i, 0)).x;
}
