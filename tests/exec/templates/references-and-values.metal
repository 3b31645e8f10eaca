// Of templates that take a value and a reference the more special one is meant, not the one without.
//! covers: C++ temp.func.order
//! oracle: clang
//! kernel: products
//! arg 0: f32 0*4
//! expect 0: f32 8 20 12 6

#include <metal_stdlib>
using namespace metal;

template <typename T> struct Pair { T value, slope; };

template <typename T, typename U> Pair<T> operator*(const Pair<T> a, U b)
{
    return {a.value * b, a.slope * b};
}

template <typename T, typename U> Pair<T> operator*(const thread Pair<T>& a, const thread Pair<U>& b)
{
    return {a.value * b.value, a.value * b.slope + a.slope * b.value};
}

template <typename T> Pair<T> operator-(const thread Pair<T>& a, const thread Pair<T>& b)
{
    return {a.value - b.value, a.slope - b.slope};
}

template <typename T, typename U> Pair<T> operator-(const Pair<T> a, U b)
{
    return {a.value - b, a.slope};
}

kernel void products(device float* out [[buffer(0)]])
{
    Pair<float> a{2, 3}, b{4, 4};
    Pair<float> both = a * b;
    out[0] = both.value;
    out[1] = both.slope;
    out[2] = (a * 4.0f).slope;
    out[3] = (both - a).value * (b - 3.0f).value;
}
