// Functions named without a call, of which the arguments must pick one.
#include <metal_stdlib>
using namespace metal;

int pick(int x) { return x; }

template <int (*F)(float)> struct UseFloat { int call(float x) { return F(x); } };

template <typename T> kernel void double_of(device T* x [[buffer(0)]]) { x[0] *= 2; }
template <typename T> kernel void double_of(device T* x [[buffer(0)]], device T* y [[buffer(1)]]) { x[0] = 2 * y[0]; }

template [[host_name("double_int")]] kernel void double_of<int>; //~ ambiguous-function

template <typename T> kernel void half_of(device T* x [[buffer(0)]]) { x[0] /= 2; }

template [[host_name("half_of_constant")]] kernel void half_of<3>; //~ type-expected

kernel void fits_not(device int* x [[buffer(0)]])
{
    UseFloat<pick> use; //~ no-matching-function
    x[0] = use.call(1);
}
