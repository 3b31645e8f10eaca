// Suspicious code that is compiled all the same.
#include <metal_stdlib>
using namespace metal;

kernel void index(device float4* x [[buffer(0)]])
{
    x[0][0] = x[1][4]; //~ index-out-of-range
}
