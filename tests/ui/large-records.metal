// Structures larger than any memory.
#include <metal_stdlib>
using namespace metal;

struct Inner { float4 rows[100000000]; };
struct Outer { Inner first; Inner second; }; //~ too-large

kernel void sizes(device uint* out [[buffer(0)]])
{
    out[0] = uint(sizeof(Outer));
}
