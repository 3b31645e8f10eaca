// Texels of integer, normalised and float formats; what is read outside and of channels that a format does not have.
//! covers: MSL 2.9, MSL 6.12
//! oracle: exact
//! kernel: integers
//! threads: 6
//! group: 6
//! texture 0: rgba8uint 3,2 u8 1..25
//! arg 0: u32 0*32
//! expect 0: u32 1..25 3 2 1 0 0 0 0 0
//! kernel: normalised
//! threads: 4
//! group: 4
//! texture 0: r8unorm 4 u8 0 51 102 255
//! texture 1: rg8snorm 4,1 i8 -128 -127 0 127 64 -1 1 126
//! arg 0: f32 0*32
//! expect 0: f32 0 0 0 1 0.2 0 0 1 0.4 0 0 1 1 0 0 1 -1 -1 0 1 0 1 0 1 0.503937007874015748 -0.007874015748031496 0 1 0.007874015748031496 0.992125984251968504 0 1
//! kernel: solid
//! threads: 8
//! group: 8
//! texture 0: r16sint 2,2,2 i16 -1 2 -3 4 -5 6 -7 8
//! arg 0: i32 0*12
//! expect 0: i32 -1 2 -3 4 -5 6 -7 8 2 2 2 0
//! kernel: written
//! threads: 8
//! group: 8
//! texture 0: rgba8unorm 8,1 u8 9*32
//! arg 0: f32 -1 0 0.5 1 2 5 -5 0.2
//! arg 1: f32 0*32
//! expect 1: f32 0 1 0 1 0 1 0 1 0.50196078431372549 0.50196078431372549 0 1 1 0 0 1 1 0 0 1 1 0 0 1 0 1 0 1 0.2 0.8 0 1
//! kernel: halves
//! threads: 2
//! group: 2
//! texture 0: rgba16float 2,1 f16 1.5 -2 0.333251953125 65504 0x0001 inf -inf 0
//! arg 0: f32 0*8
//! expect 0: f32 1.5 -2 0.333251953125 65504 5.9604644775390625e-8 inf -inf 0

#include <metal_stdlib>
using namespace metal;

kernel void integers(texture2d<uint, access::read> t [[texture(0)]], device uint4* out [[buffer(0)]],
                     uint i [[thread_position_in_grid]]) {
    out[i] = t.read(uint2(i % 3, i / 3));
    if (i > 0) return;
    out[6] = uint4(t.get_width(), t.get_height(), t.get_num_mip_levels(), is_null_texture(t));
    out[7] = t.read(uint2(3, 0)) + t.read(uint2(0, 2));
}

kernel void normalised(texture1d<float, access::read> row [[texture(0)]], texture2d<float> pairs [[texture(1)]],
                       device float4* out [[buffer(0)]], ushort i [[thread_position_in_grid]]) {
    out[i] = row.read(i);
    out[4 + i] = pairs.read(ushort2(i, 0), 0);
}

kernel void solid(texture3d<int, access::read> t [[texture(0)]], device int* out [[buffer(0)]],
                  uint i [[thread_position_in_grid]]) {
    out[i] = t.read(uint3(i % 2, i / 2 % 2, i / 4)).r;
    if (i > 0) return;
    out[8] = t.get_width();
    out[9] = t.get_height();
    out[10] = t.get_depth();
    out[11] = t.read(uint3(0, 0, 2)).r;
}

kernel void written(texture2d<float, access::read_write> t [[texture(0)]], device const float* in [[buffer(0)]],
                    device float4* out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    t.write(float4(in[i], 1 - in[i], 0, 1), uint2(i, 0));
    t.write(float4(1), uint2(i, 1));
    t.fence();
    out[i] = t.read(uint2(i, 0));
}

kernel void halves(texture2d<half, access::read> t [[texture(0)]], device float4* out [[buffer(0)]],
                   uint i [[thread_position_in_grid]]) {
    out[i] = float4(t.read(uint2(i, 0)));
}
