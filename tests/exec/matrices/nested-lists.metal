// Matrices from a list for each column, at program scope too; columns may be vectors.
//! covers: MSL 2.3.2
//! kernel: columns
//! arg 0: f32 1 2 3 4
//! arg 1: f32 0*4
//! expect 0: f32 9 6 8 4
//! expect 1: f32 5 3 4 8

#include <metal_stdlib>
using namespace metal;

constant float4x4 turned = {{0, 0, 1, 0}, {1, 0, 0, 0}, {0, 1, 0}, {0, 0, 0, 1}};
constant float4x4 shifted = {float4(1, 0, 0, 0), {0, 1, 0, 0}, float4(0, 0, 1, 0), {7, 3, 7, 1}};

kernel void columns(device float4* x [[buffer(0)]], device float* y [[buffer(1)]])
{
    float4 v = x[0];
    float2x3 wide{{1, 2, 3}, {4, 5, 6}};
    float2x2 square({1, 2}, {3, 4});
    y[0] = wide[1][1];
    y[1] = square[1].x;
    y[2] = wide[1].x;
    y[3] = (square * square)[0].x + 1;
    x[0] = float4((turned * v).xyz, 1) + float4(shifted[3].xyz, 3);
}
