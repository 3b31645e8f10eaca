// Values given when the pipeline is made: branches, sizes, arguments that come and go.
//! covers: MSL 5.8
//! kernel: scaled
//! constant 0: true
//! constant 1: 5
//! constant 2: 0.5
//! arg 0: f32 8
//! arg 1: f32 100
//! expect 0: f32 120
//! kernel: scaled
//! constant 0: false
//! constant 1: 2
//! constant 2: 0.25
//! arg 0: f32 8
//! expect 0: f32 4

#include <metal_stdlib>
using namespace metal;

constant bool has_bias [[function_constant(0)]];
constant int times [[function_constant(1)]];
constant float factor [[function_constant(2)]];
kernel void scaled(device float* data [[buffer(0)]],
                   device const float* bias [[buffer(1), function_constant(has_bias)]]) {
    float sum = 0;
    for (int i = 0; i < times; ++i) sum += data[0] * factor;
    if (has_bias) sum += bias[0];
    data[0] = sum;
}
