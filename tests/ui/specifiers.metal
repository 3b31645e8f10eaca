#include <metal_stdlib>
using namespace metal;

struct S
{
    constexpr int a; //~ misplaced-specifier
    typedef constexpr int C; //~ misplaced-specifier
};

typedef inline int I; //~ misplaced-specifier
constexpr struct T {}; //~ misplaced-specifier
explicit int outside(); //~ misplaced-specifier
int qualified() const; //~ misplaced-specifier
void parameter(static int x); //~ misplaced-specifier

template <typename T = int, typename U> struct Defaults {}; //~ template-parameter
template <typename... Ts, typename U> struct Packs {}; //~ template-parameter

kernel void no_loop(device int* x [[buffer(0)]])
{
#pragma unroll
    x[0] = 1; //~ misplaced-pragma
}
