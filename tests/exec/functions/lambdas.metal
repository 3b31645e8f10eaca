// Lambdas capture by reference.
//! covers: C++ expr.prim.lambda
//! oracle: clang
//! kernel: call
//! arg 0: i32 0*2
//! expect 0: i32 6 3

#include <metal_stdlib>
using namespace metal;

template <typename F> void each(int n, F f) { for (int i = 1; i <= n; ++i) f(i); }
kernel void call(device int* out) {
    int sum = 0, count = 0;
    each(3, [&](int i) { sum += i; ++count; });
    out[0] = sum;
    out[1] = count;
}
