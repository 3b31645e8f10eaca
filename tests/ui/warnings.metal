// Suspicious code that is compiled all the same.
#include <metal_stdlib>
using namespace metal;

kernel void index(device float4* x [[buffer(0)]])
{
    x[0][0] = x[1][4]; //~ index-out-of-range
}

template <typename T> void compare_as(T x, T y)
{
    x == y; //~ unused-comparison
}

kernel void compare(device int* x [[buffer(0)]])
{
    x[0] == 1; //~ unused-comparison: equality comparison result unused
    x[0] != x[1]; //~ unused-comparison: inequality comparison result unused
    (void)(x[0] == 1);
    compare_as(1, 2);
    compare_as(1.0f, 2.0f);
}

kernel void aligned_cast(threadgroup float* p [[threadgroup(0)]], device float4* out [[buffer(0)]])
{
    out[0] = *((threadgroup __attribute__((aligned(16))) float4*)p); //~ ignored-attributes: no effect in the name of a type
}
