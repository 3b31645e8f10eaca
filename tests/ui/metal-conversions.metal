// Conversions that C++ has and Metal has not: sections 2.22 and 4 of the specification.
#include <metal_stdlib>
using namespace metal;

struct Pair { float a, b; };
float sum(const thread Pair& pair) { return pair.a + pair.b; }
float sum_of_constants(constant Pair& pair) { return pair.a + pair.b; }
float value(const thread float& x) { return x; }

kernel void references(constant Pair& pair [[buffer(0)]], device float* out [[buffer(1)]])
{
    out[0] = sum(pair); //~ no-matching-function
    out[1] = sum_of_constants(pair);
    Pair copy = pair;
    out[2] = sum(copy);
    out[3] = value(out[0]); //~ no-matching-function
    out[4] = value(out[0] + 1);
    const thread Pair& bound = pair; //~ no-conversion
    out[5] = bound.a;
}

kernel void bfloats(device const float* x [[buffer(0)]], device bfloat* out [[buffer(1)]], device half* h [[buffer(2)]])
{
    bfloat b = x[0]; //~ no-conversion: to `bfloat` in this initialiser
    out[0] = h[0]; //~ no-conversion
    h[1] = out[0]; //~ no-conversion
    bfloat c = bfloat(x[0]);
    float f = c;
    out[1] = 2;
    out[1] += f;
    out[2] = bfloat(f + c);
    bfloat4 v = bfloat4(c);
    v = 1.0f; //~ no-conversion
    out[3] = v.x;
}
