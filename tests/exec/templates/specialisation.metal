// Full and partial specialisations of class templates, and of function templates.
//! covers: C++ temp.expl.spec, C++ temp.class.spec
//! kernel: choose
//! arg 0: i32 0*5
//! expect 0: i32 0 1 2 3 4

#include <metal_stdlib>
using namespace metal;

template <typename T, int N> struct Kind { static constexpr constant int value = 0; };
template <int N> struct Kind<float, N> { static constexpr constant int value = 1; };
template <typename T> struct Kind<T, 2> { static constexpr constant int value = 2; };
template <> struct Kind<float, 7> { static constexpr constant int value = 3; };
template <typename T> int answer() { return 5; }
template <> int answer<half>() { return 4; }
kernel void choose(device int* out) {
    out[0] = Kind<int, 1>::value;
    out[1] = Kind<float, 1>::value;
    out[2] = Kind<int, 2>::value;
    out[3] = Kind<float, 7>::value;
    out[4] = answer<half>();
}
