// Indices that function constants specify, of buffers, textures and samplers. Arguments without an index get
// the lowest that another has not got, whatever the constants are.
//! covers: MSL 5.8
//! oracle: exact
//! kernel: moved
//! constant 0: 2
//! constant 1: 3
//! constant 2: 5
//! arg 0: f32 0*4
//! arg 2: u32 4
//! arg 4: f32 1 2 3 4
//! texture 3: r32float 4,1 f32 10 20 30 40
//! expect 0: f32 11 22 33 44
//! kernel: moved
//! constant 0: 7
//! constant 1: 0
//! constant 2: 1
//! arg 0: f32 0*4
//! arg 7: u32 2
//! arg 9: f32 1 2 3 4
//! texture 0: r32float 4,1 f32 100 200 300 400
//! expect 0: f32 101 202 0 0
//! kernel: optional
//! constant 0: 1
//! constant 3: true
//! arg 0: f32 0
//! arg 1: f32 8
//! expect 0: f32 9
//! kernel: optional
//! constant 3: false
//! arg 0: f32 0
//! expect 0: f32 1

#include <metal_stdlib>
using namespace metal;

constant int index_a [[function_constant(0)]];
constant int index_b = index_a + 2;
constant ushort index_c [[function_constant(1)]];
constant uint index_d [[function_constant(2)]];
constant bool has_bias [[function_constant(3)]];

kernel void moved(constant uint& count [[buffer(index_a)]], device const float* in [[buffer(index_b)]],
                  device float* out, texture2d<float> t [[texture(index_c)]])
{
    for (uint i = 0; i < count; i++) out[i] = in[i] + t.read(uint2(i, 0)).x;
}

kernel void optional(device float* out [[buffer(0)]],
                     device const float* bias [[buffer(index_a), function_constant(has_bias)]])
{
    out[0] = 1;
    if (has_bias) out[0] += bias[0];
}
