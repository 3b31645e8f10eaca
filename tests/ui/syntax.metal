// Text that is no MSL: several mistakes are told in one run.
#include <metal_stdlib>
using namespace metal;

kernel void semicolon(device float* x [[buffer(0)]])
{
    x[0] = 1.0f //~ expected-token
}

kernel void bracket(device float* x [[buffer(0)]])
{
    x[0 = 2.0f; //~ expected-token
}
