// An array passed by reference keeps its bound.
//! covers: C++ dcl.ref
//! oracle: clang
//! kernel: total
//! arg 0: i32 0*2
//! expect 0: i32 10 4

#include <metal_stdlib>
using namespace metal;

template <int N> int sum(thread int (&values)[N]) {
    int all = 0;
    for (int i = 0; i < N; ++i) { all += values[i]; values[i] = 0; }
    return all;
}
kernel void total(device int* out) {
    int four[4] = {1, 2, 3, 4};
    out[0] = sum(four);
    out[1] = sizeof(four) / sizeof(int) + sum(four);
}
