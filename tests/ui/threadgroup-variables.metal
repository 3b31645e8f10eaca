// Threadgroup variables are declared in kernels (MSL 4.4).
#include <metal_stdlib>
using namespace metal;

float helper(float value)
{
    threadgroup float shared[32]; //~ threadgroup-in-function: `shared` is declared in a function that is not a kernel
    shared[0] = value;
    return shared[0];
}

template <typename T> T instance(T value)
{
    threadgroup T shared; //~ threadgroup-in-function
    shared = value;
    return shared;
}

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wthreadgroup-in-function"
float allowed(float value)
{
    threadgroup float shared;
    shared = value;
    return shared;
}
#pragma clang diagnostic pop

kernel void k(device float* out [[buffer(0)]])
{
    threadgroup float own[32];
    auto first = [&](float value) {
        threadgroup float in_lambda;
        in_lambda = value;
        return in_lambda;
    };
    own[0] = first(1);
    out[0] = helper(own[0]) + instance(2.0f) + allowed(3);
}
