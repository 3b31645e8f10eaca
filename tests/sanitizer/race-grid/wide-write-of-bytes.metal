// A pair written at an odd element overlaps the pair of the neighbouring threadgroup by its half.
// launch: --threads 2 --group 1 --arg out=zeros:u32:4
#include <metal_stdlib>
using namespace metal;

kernel void overlap(device uint *out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    device packed_uint2 *pair = reinterpret_cast<device packed_uint2 *>(out + gid);
    *pair = packed_uint2(gid + 1, gid + 10); //~ race-grid 12
}
