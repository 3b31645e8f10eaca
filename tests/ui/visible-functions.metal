// Pointers to functions and tables of visible functions that are used wrongly, and functions that nothing
// links.
#include <metal_stdlib>
using namespace metal;

[[visible]] float twice(float x) { return 2 * x; }
[[visible]] float elsewhere(float x);

struct Thing {
    float method(float x) { return x; }
};

kernel void declared(device float* x [[buffer(0)]])
{
    x[0] = elsewhere(x[0]); //~ undefined-function
}

kernel void arguments(device float* x [[buffer(0)]], visible_function_table<float(float)> ops [[buffer(1)]])
{
    x[0] = ops[0](); //~ argument-count
    x[1] = ops[0](ops); //~ no-conversion
    x[2] = ops[x[0]](1.0f); //~ bad-index
    x[3] = ops(1.0f); //~ not-callable
}

kernel void no_functions(device float* x [[buffer(0)]], visible_function_table<float> ops [[buffer(1)]])
{
    x[0] = ops[0](x[0]); //~ not-a-function-type
}

kernel void pointers(device float* x [[buffer(0)]])
{
    float (*f)(int) = twice; //~ no-matching-function
    float (*g)(float) = x; //~ no-conversion
    x[0] = Thing::method(1.0f); //~ no-object
    auto h = Thing::method; //~ function-pointer
}

// A table is at an index of buffers.
kernel void indices(device float* x [[buffer(1)]], visible_function_table<float(float)> ops [[buffer(1)]]) //~ duplicate-index
{
    x[0] = ops[0](x[0]);
}
