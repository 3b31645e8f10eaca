// Stage-in data of kernels: a structure of scalars and vectors, each with a number.
#include <metal_stdlib>
using namespace metal;

struct Right
{
    float4 position [[attribute(0)]];
    uchar kind [[attribute(30)]];
};

struct Base { float a [[attribute(0)]]; };

struct Wrong : Base
{
    float2 unnumbered; //~ stage-in: has no attribute number
    float far [[attribute(31)]]; //~ attribute-argument
    float first [[attribute(1)]];
    float second [[attribute(1)]]; //~ duplicate-index: attribute 1
    packed_float3 packed [[attribute(2)]]; //~ stage-in: `packed_float3`
    float4x4 matrix [[attribute(3)]]; //~ stage-in
    float array[2] [[attribute(4)]]; //~ stage-in
    Right nested [[attribute(5)]]; //~ stage-in
    device float* pointer [[attribute(6)]]; //~ stage-in
    int bits [[attribute(7)]] : 3; //~ stage-in
    long wide [[attribute(8)]]; //~ stage-in
    bool flag [[attribute(9)]]; //~ stage-in
    bfloat2 narrow [[attribute(10)]]; //~ stage-in
};

kernel void right(Right in [[stage_in]], device float* x [[buffer(0)]]) { x[0] = in.position.x; }

kernel void members(Wrong in [[stage_in]], //~ stage-in: base class
                    device float* x [[buffer(0)]])
{
    x[0] = in.first;
}

kernel void scalar(uint in [[stage_in]], device uint* x [[buffer(0)]]) { x[0] = in; } //~ stage-in: a structure

kernel void reference(device Right& in [[stage_in]], device float* x) { x[0] = 0; } //~ stage-in

kernel void two(Right a [[stage_in]], Right b [[stage_in]], device float* x) //~ stage-in: one argument
{
    x[0] = a.position.x + b.position.x;
}
