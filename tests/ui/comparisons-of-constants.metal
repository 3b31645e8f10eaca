// The signs of operands matter only if one of them is not known.
// checked
// warnings: -Wall -Wextra
#include <metal_stdlib>
using namespace metal;

constant int LIMIT = -1;
enum Large : uint { LARGE = 4000000000u };
constexpr int minus_one() { return -1; }

kernel void compare(device int* out [[buffer(0)]], constant int& x [[buffer(1)]], constant uint& y [[buffer(2)]])
{
    const int known = -1;
    const uint large = 7;
    int changed = -1;
    out[0] = -1 < 0xffffffff;
    out[1] = -1 > 1u;
    out[2] = known < large;
    out[3] = LIMIT != large;
    out[4] = minus_one() == LARGE;
    out[5] = x < large; //~ sign-compare
    out[6] = known < y; //~ sign-compare
    out[7] = changed < large; //~ sign-compare
    out[8] = x == LARGE; //~ sign-compare
    out[9] = minus_one() < y; //~ sign-compare
    out[10] = 3 < y;
}
