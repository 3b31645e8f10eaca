// `#pragma unused` marks variables and parameters as used; it may be at file scope or in a block.
// checked
// warnings: -Wall -Wextra
#include <metal_stdlib>
using namespace metal;
#pragma unused(nothing)
#pragma unused //~ unknown-pragma: expected `(` and names after `unused`
#pragma unused nothing //~ unknown-pragma
#pragma unused(1) //~ unknown-pragma: expected the name of a variable

template <typename T> struct Unchecked {
    static bool condition(T a, T b)
    {
#pragma unused(a)
#pragma unused(b)
        return true;
    }

    static bool half_checked(T a, T b) //~ unused-parameter: unused parameter 'b'
    {
#pragma unused(a)
        return true;
    }
};

kernel void marked(device int* out [[buffer(0)]], uint i [[thread_position_in_grid]], uint n [[threads_per_grid]])
{
#pragma unused(n)
    int first, second = 3;
#pragma unused(first, second)
    int third; //~ unused-variable: unused variable 'third'
    int set; //~ unused-but-set-variable
    set = 1;
    int marked_and_set;
    marked_and_set = 2;
    _Pragma("unused(marked_and_set)")
    switch (i) {
    case 1:
        int in_case = 1;
#pragma unused(in_case)
        out[i] = Unchecked<int>::condition(1, 2) + Unchecked<int>::half_checked(1, 2);
    }
}
