// Expressions of operands that do not allow them.
#include <metal_stdlib>
using namespace metal;

struct Point
{
    float x, y;
    float length() const { return x; }
    using Scalar = float;
    static float outside() { return x; } //~ no-object
};

kernel void addresses(device float4* v [[buffer(0)]])
{
    thread int* number = &1; //~ address-of-value
    device float2* swizzle = &v[0].xy; //~ address-of-value
}

kernel void casts(device float* x [[buffer(0)]], device float4* v [[buffer(1)]])
{
    threadgroup float* shared = (threadgroup float*)x; //~ bad-cast
    x[0] = (float&)1.0f; //~ cast-to-reference
    x[1] = (thread float&)x[2]; //~ cast-changes-space
}

kernel void indices(device float* x [[buffer(0)]], device float4* v [[buffer(1)]])
{
    x[0] = x[1.5f]; //~ bad-index
    x[0][1] = 2; //~ not-indexable
    device void* bytes = x;
    bytes[0]; //~ bad-index: pointer to `void`
}

kernel void arrows(device float* x [[buffer(0)]])
{
    Point p = { 1, 2 };
    x[0] = p->x; //~ not-a-pointer
    x[1] = x[2]->y; //~ not-a-pointer
}

kernel void values(device float* x [[buffer(0)]])
{
    Point p = { 1, 2 };
    x[0] = Point; //~ not-a-value
    x[1] = p.length; //~ method-value
    x[2] = p.Scalar; //~ not-a-value
    x[3] = Point::outside();
    x[4] = this->x; //~ no-this
    x[5] = sizeof(void); //~ no-size
}

kernel void calls(device float* x [[buffer(0)]])
{
    x[0] = x[1](2); //~ not-callable
}
