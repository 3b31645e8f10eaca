// The library's own building blocks: the functions whose names begin with `__am_`.
#include <metal_stdlib>
using namespace metal;

kernel void names(device float* x [[buffer(0)]])
{
    x[0] = __am_sine(x[1]); //~ unknown-builtin
}

kernel void arguments(device float* x [[buffer(0)]])
{
    x[0] = __am_sin(x[1], x[2]); //~ argument-count
    x[1] = __am_sin(x); //~ invalid-argument
    x[2] = __am_sin({ 1 }); //~ invalid-argument
}

kernel void template_argument(device float* x [[buffer(0)]])
{
    x[0] = __am_as_type(x[1]); //~ builtin-result
}
