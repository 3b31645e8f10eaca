// Calls that fit no function, and calls that fit several.
#include <metal_stdlib>
using namespace metal;

float twice(float x) { return 2 * x; }

void one(int a, float b) {}
void one(float a, int b) {}

kernel void arguments(device float* x [[buffer(0)]])
{
    x[0] = twice(x[0], x[1]); //~ no-matching-function
}

kernel void ambiguous(device float* x [[buffer(0)]])
{
    one(1, 2); //~ ambiguous-call
}
