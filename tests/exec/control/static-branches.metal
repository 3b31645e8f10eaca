// if constexpr drops the branch that would not compile for the type.
//! covers: C++ stmt.if
//! oracle: clang
//! kernel: pick
//! arg 0: i32 0*2
//! expect 0: i32 4 -1

#include <metal_stdlib>
using namespace metal;

struct Sized { int size; };
template <typename T> int measure(T value) {
    if constexpr (is_same_v<T, Sized>) return value.size; else return -int(value);
}
kernel void pick(device int* out) {
    Sized four = {4};
    out[0] = measure(four);
    out[1] = measure(1);
}
