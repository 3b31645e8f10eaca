// A barrier that names device memory alone does not order texels.
// launch: --threads 64 --group 64 --arg t=texture:r32float:64x1 --arg out=zeros:f32:64
#include <metal_stdlib>
using namespace metal;

kernel void turn(texture2d<float, access::read_write> t [[texture(0)]], device float *out [[buffer(0)]],
                 uint i [[thread_position_in_grid]]) {
    t.write(float4(i), uint2(i, 0)); //~ race-threadgroup 1
    threadgroup_barrier(mem_flags::mem_device);
    out[i] = t.read(uint2(63 - i, 0)).x; //~ race-threadgroup 2
}
