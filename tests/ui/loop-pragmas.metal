#include <metal_stdlib>
using namespace metal;

kernel void options(device int* x [[buffer(0)]])
{
#pragma clang loop unroll(always)
    //~^ invalid-pragma
#pragma clang loop vectorise(enable)
    //~^ invalid-pragma
#pragma clang loop unroll_count
    //~^ invalid-pragma
    for (int i = 0; i < 4; ++i)
        x[i] = i;
}
