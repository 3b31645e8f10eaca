// Vectors behind pointers to scalars that a loop moves by a row, of a length that is a multiple of their elements or not, and packed vectors behind bytes.
//! threads: 1
//! kernel: walk
//! arg 0: f32 0..64
//! arg 1: u32 8
//! arg 2: f32 0*5
//! expect 2: f32 48 52 56 60 0
//! kernel: walk
//! arg 0: f32 0..64
//! arg 1: u32 5
//! arg 2: f32 0*5
//! expect 2: f32 30 34 38 42 0
//! kernel: mixed
//! arg 0: f32 0..64
//! arg 1: u8 0..64
//! arg 2: u32 8
//! arg 3: u32 5
//! arg 4: u32 0*3
//! expect 4: u32 38 134678021 0
#include <metal_stdlib>
using namespace metal;

kernel void walk(device const float* rows [[buffer(0)]], constant uint& length [[buffer(1)]], device float* out [[buffer(2)]]) {
    float4 sum = 0;
    device const float* row = rows;
    for (uint i = 0; i < 4; i++) {
        sum += *(device const float4*)row;
        row += length;
    }
    for (uint i = 0; i < 4; i++) out[i] = sum[i];
}

// One stride gains by being a multiple of 4, the other is none.
kernel void mixed(device const float* rows [[buffer(0)]], device const uchar* bytes [[buffer(1)]], constant uint& length [[buffer(2)]],
                  constant uint& stride [[buffer(3)]], device uint* out [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    float4 row = *(device const float4*)(rows + (i + 1) * length);
    out[0] = uint(row.x + row.y + row.z + row.w);
    out[1] = as_type<uint>(uchar4(*(device const packed_uchar4*)(bytes + (i + 1) * stride)));
}
