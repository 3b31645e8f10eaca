// Overlapping float4 stores: elements 1 to 4 of lane 1 overlap those of lane 0.
// launch: --threads 32 --group 32 --arg out=zeros:f32:36
#include <metal_stdlib>
using namespace metal;

kernel void windows(device float *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    device packed_float4 *window = reinterpret_cast<device packed_float4 *>(out + gid);
    *window = packed_float4(float(gid)); //~ race-simdgroup 12
}
