// Errors in macros tell where the macro was used.
#include <metal_stdlib>
using namespace metal;

#define ADD(a, b) ((a) + missing + (b))

kernel void used(device float* x [[buffer(0)]])
{
    x[0] = ADD(x[1], x[2]); //~ unknown-name
}
