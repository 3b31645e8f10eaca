// Mistakes of syntax, which docs/reference/messages.md compares with clang's messages.
#include <metal_stdlib>
using namespace metal;

kernel void k(device float* out [[buffer(0)]])
{
    float x = 1.0f //~ expected-token: expected `;` after
    out[0] = x;
    out[1] = (1.0f + 2.0f; //~ expected-token: expected `)`
}
