// A barrier that names threadgroup memory alone does not order textures.
// launch: --threads 32 --group 32 --arg t=texture:r32float:32x1 --arg out=zeros:f32:32
#include <metal_stdlib>
using namespace metal;

kernel void texel(texture2d<float, access::read_write> t [[texture(0)]], device float *out [[buffer(0)]],
                  uint i [[thread_position_in_grid]]) {
    t.write(float4(i), uint2(i, 0)); //~ texture-fence 1
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = t.read(uint2(i, 0)).x; //~ texture-fence 2
}
