// Rules of the Metal specification that C++ does not have.
#include <metal_stdlib>
using namespace metal;

kernel void called(device float* out [[buffer(0)]]) { out[0] = 1; }

kernel void calls_a_kernel(device float* out [[buffer(0)]])
{
    called(out); //~ kernel-call
}

kernel void signed_position(device float* out [[buffer(0)]], int i [[thread_position_in_grid]]) //~ kernel-parameter
{
    out[i] = 1;
}

kernel void pointer_as_texture(device float* out [[texture(0)]]) //~ kernel-parameter: for textures or samplers
{
    out[0] = 1;
}

kernel void matrix(device float* out [[buffer(0)]])
{
    float2x3 m(1.0f);
    out[0] = m[1][2];
    out[1] = m[2][0]; //~ matrix-index: column 2 is outside of a matrix of 2 columns
}

constant int with_value [[function_constant(0)]] = 1; //~ function-constant-type: has no initialiser

kernel void initialised_constant(device float* out [[buffer(0)]])
{
    out[0] = with_value;
}
