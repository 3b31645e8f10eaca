// Functions that cannot be called, and declarations that make none.
#include <metal_stdlib>
using namespace metal;

float declared_only(float x);
float removed(float x) = delete;
float variadic(int n, ...) { return n; }
float takes_void(float x, void y) { return x; } //~ void-parameter
auto endless(int n) { return endless(n - 1); } //~ auto-recursion

kernel void bodies(device float* x [[buffer(0)]])
{
    x[0] = declared_only(x[0]); //~ undefined-function
    x[1] = removed(x[1]); //~ deleted-function
    endless(3);
}

kernel void parameters(device float* x [[buffer(0)]])
{
    x[0] = variadic(1, 2); //~ variadic-function
}

kernel void parameter_of_void(device float* x [[buffer(0)]])
{
    x[0] = takes_void(1, 2); //~ no-matching-function: `takes_void`
}

int pick(int x) { return x; }
int pick(float x) { return x; }

float twice(float x) { return 2 * x; }
float apply(float (*f)(float), float x) { return f(x); }

kernel void pointers(device float* x [[buffer(0)]])
{
    x[0] = apply(pick, x[0]); //~ no-matching-function
}

template <int (*F)(int)> int use(int x) { return F(x); }
template <typename F> struct Wrap { int call(int x) { return F(x); } };
template <int N> struct Number { int value = N; };

kernel void function_arguments(device int* x [[buffer(0)]])
{
    Number<twice> number; //~ not-a-function-type
}
