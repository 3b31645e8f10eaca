// Members that a structure or a vector does not have.
#include <metal_stdlib>
using namespace metal;

struct Params { uint width; uint height; };

kernel void structure(constant Params& p [[buffer(0)]], device uint* out [[buffer(1)]])
{
    out[0] = p.widht; //~ unknown-member
}

kernel void swizzle(device float4* x [[buffer(0)]])
{
    x[0].xy = x[1].xq; //~ bad-swizzle
}
