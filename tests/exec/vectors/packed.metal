// Packed vectors have no padding and convert to plain ones.
//! covers: MSL 2.2.3
//! kernel: stride
//! threads: 2
//! group: 2
//! arg 0: f32 1 2 3 4 5 6
//! expect 0: f32 2 4 6 8 10 12

#include <metal_stdlib>
using namespace metal;

kernel void stride(device packed_float3* data, uint i [[thread_position_in_grid]]) {
    float3 v = data[i];
    data[i] = packed_float3(v + v);
}
