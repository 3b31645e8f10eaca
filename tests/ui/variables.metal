// Variables that cannot be declared as written.
#include <metal_stdlib>
using namespace metal;

struct Seed { Seed(int n) : n(n) {} int n; };

kernel void types(device int* x [[buffer(0)]])
{
    void nothing; //~ bad-variable: cannot have type `void`
    int& reference; //~ bad-variable: a reference needs an initialiser
    device int local; //~ bad-variable: device memory
    int unknown_length[]; //~ bad-variable: length
    double precise = 1; //~ no-double
    auto nothing_to_deduce; //~ auto-not-allowed: needs an initialiser
    auto list = { 1, 2 }; //~ auto-not-allowed
    Seed seed; //~ no-default-constructor
    x[0] = 1;
}

void nothing() {}

kernel void result_of_void_function(device int* x [[buffer(0)]])
{
    auto value = nothing(); //~ void-variable
}

kernel void declared_twice(device int* x [[buffer(0)]])
{
    int n = 1;
    float n = 2; //~ redefinition
    x[0] = n;
}

kernel void arrays(device int* x [[buffer(0)]])
{
    int negative[-1]; //~ array-length: cannot have -1 elements
    int huge[1 << 30]; //~ array-length: too large
    int by_value[x[0]]; //~ not-constant
    int by_fraction[1.5f]; //~ not-an-integer
    int& of_references[2] = x; //~ bad-array-element
}

kernel void threadgroup_memory(device int* x [[buffer(0)]])
{
    threadgroup int shared[2] = { 1, 2 }; //~ threadgroup-initialiser
    x[0] = shared[0];
}

constant int unset; //~ uninitialised-constant

kernel void constant_without_value(device int* x [[buffer(0)]]) { x[0] = unset; }

constant int first = second + 1;
constant int second = first + 1; //~ recursive-constant

kernel void circle(device int* x [[buffer(0)]]) { x[0] = first; }

kernel void lambdas(device int* x [[buffer(0)]])
{
    int n = x[0];
    auto f = [](int y) { return y + n; }; //~ not-captured: not captured
    x[0] = f(1);
}
