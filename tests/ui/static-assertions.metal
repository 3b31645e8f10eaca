// Assertions at program scope and in functions.
#include <metal_stdlib>
using namespace metal;

static_assert(sizeof(int) == 8, "int is small"); //~ static-assert: int is small
static_assert(sizeof(int) == 4);

kernel void program_scope(device int* x [[buffer(0)]]) { x[0] = 1; }

template <typename T> T halved(T x)
{
    static_assert(sizeof(T) > 2, "T is too small"); //~ static-assert: T is too small
    return x / 2;
}

kernel void in_function(device half* x [[buffer(0)]]) { x[0] = halved(x[0]); }
