// Conversions that do not exist.
#include <metal_stdlib>
using namespace metal;

struct Point { float x, y; };

kernel void conversions(device float* out [[buffer(0)]], device float4* v [[buffer(1)]])
{
    Point p = { 1, 2 };
    out[0] = p; //~ no-conversion
    float3 three = v[0]; //~ no-conversion
    out[1] = three.x;
}
