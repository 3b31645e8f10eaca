// warnings: -Werror=return-type -Wunused-variable
#include <metal_stdlib>
using namespace metal;

int no_result() {} //~ return-type

kernel void k(device int* out [[buffer(0)]])
{
    int unused; //~ unused-variable
    out[0] = no_result();
}

#pragma clang diagnostic error "-Wunused-value"
kernel void by_pragma(device int* out [[buffer(0)]])
{
    out[0] + 1; //~ unused-value
}
