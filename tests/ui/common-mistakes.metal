// Twenty common mistakes, which docs/reference/messages.md compares with clang's messages; those of syntax are in
// common-syntax-mistakes.metal.
#include <metal_stdlib>
using namespace metal;

struct Ray { float origin; };

float mean(float a, float b) { return (a + b) / 2; }
float length_of(Ray ray) { return ray.origin; }
float pick(int a, float b) { return a + b; }
float pick(float a, int b) { return a - b; }
template <typename T> T twice(T x) { return x.value + x.value; } //~ no-members
float clamped(float x) { if (x > 0) return x; } //~ return-type

kernel void names(device float* out [[buffer(0)]], constant float& value [[buffer(1)]])
{
    out[0] = vlaue; //~ unknown-name: unknown name `vlaue`
    flaot x = 1; //~ unknown-name: unknown type `flaot`
    out[1] = squared(2.0f); //~ unknown-name: unknown function `squared`
}

kernel void calls(device float* out [[buffer(0)]])
{
    out[0] = mean(1.0f); //~ no-matching-function
    out[1] = length_of(1.0f); //~ no-matching-function
    out[2] = pick(1, 2); //~ ambiguous-call
    out[3] = twice(2.0f);
}

kernel void members(device float* out [[buffer(0)]], constant Ray* rays [[buffer(1)]], constant float2& v [[buffer(2)]])
{
    Ray ray = {1};
    out[0] = rays.origin; //~ no-members
    out[1] = ray->origin; //~ not-a-pointer
    out[2] = ray.orgin; //~ unknown-member: no member named `orgin`
    out[3] = v.z; //~ bad-swizzle
}

kernel void values(device float4* out [[buffer(0)]], device const float* in [[buffer(1)]], constant int4& v [[buffer(2)]])
{
    in[0] = 1; //~ not-assignable
    out[0] = v; //~ no-conversion
    float x = 1;
    int x = 2; //~ redefinition
    out[1] = x;
}

kernel void suspicious(device uint* out [[buffer(0)]], constant int& mode_of_all [[buffer(1)]])
{
    int mode = mode_of_all;
    if (mode = 1) out[0] = 1; //~ condition-assignment
    float a[4] = {};
    out[1] = a[4]; //~ past-array
    out[2] = 1u << 32; //~ shift-count-overflow
    out[3] = clamped(1);
}
