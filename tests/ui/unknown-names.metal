// Names that do not exist, and what was probably meant.
#include <metal_stdlib>
using namespace metal;

kernel void value(device float* x [[buffer(0)]])
{
    x[0] = missing; //~ unknown-name
}

kernel void function(device float* x [[buffer(0)]])
{
    x[0] = squareroot(x[1]); //~ unknown-name
}

kernel void slip(device float* values [[buffer(0)]])
{
    values[0] = valves[1]; //~ unknown-name
}

kernel void type(device flaot* x [[buffer(0)]]) //~ unknown-name
{
    x[0] = 1.0f;
}
