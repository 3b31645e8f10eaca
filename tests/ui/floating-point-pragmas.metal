// Floating-point pragmas: forms that are not known, and places where they cannot be.
#include <metal_stdlib>
using namespace metal;
#pragma METAL fp contract(never) //~ unknown-pragma
#pragma METAL fp math_mode safe //~ unknown-pragma
#pragma clang fp exceptions(on) //~ invalid-pragma: is one of ignore, maytrap, strict
#pragma STDC FP_CONTRACT YES //~ unknown-pragma
#pragma STDC FP_FUSE OFF //~ unknown-pragma
#pragma METAL fp contract(fast)
#pragma STDC FP_CONTRACT DEFAULT

kernel void k(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    #pragma METAL fp math_mode(safe)
    #pragma STDC FP_CONTRACT OFF
    float x = y[i];
    #pragma METAL fp contract(off) //~ misplaced-pragma
    if (i > 3)
        #pragma STDC FP_CONTRACT ON //~ misplaced-pragma
    y[i] = x * x + 1.0f;
}
