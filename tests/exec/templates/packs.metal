// Recursion over a parameter pack.
//! covers: C++ temp.variadic
//! oracle: clang
//! kernel: total
//! arg 0: i32 0
//! expect 0: i32 15

#include <metal_stdlib>
using namespace metal;

template <typename T> T sum(T x) { return x; }
template <typename T, typename... Us> T sum(T x, Us... rest) { return x + sum(rest...); }
kernel void total(device int* out) { out[0] = sum(1, 2, 3, 4, 5); }
