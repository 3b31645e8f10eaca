// Uniform variables take uniform values (MSL 2.14.2).
// checked
#include <metal_stdlib>
using namespace metal;

static int sum(uniform<int> a, int b)
{
    uniform<int> twice = a + a;
    uniform<int> varies = a + b; //~ uniform-value: cannot be initialised by `b`, which is not uniform
    return twice + varies;
}

kernel void values(constant int& given [[buffer(0)]], device int* out [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    uniform<int> three = 3;
    uniform<int> loaded = given;
    int z = loaded * int(i);
    metal::uniform<int> b = z; //~ uniform-value: cannot be initialised by `z`
    uniform<int> promised = make_uniform(z);
    const int constant_number = 4;
    uniform<int> known = constant_number;
    auto deduced = three + 1;
    uniform<int> from_deduced = deduced;
    uniform<uint> position = i + 1; //~ uniform-value: cannot be initialised by `i`
    out[i] = sum(three, z) + b + promised + known + from_deduced + int(position);
}
