// Arguments of function templates are deduced, given, or defaulted.
//! covers: C++ temp.deduct
//! oracle: clang
//! kernel: deduce
//! arg 0: i32 0*4
//! expect 0: i32 7 2 8 12

#include <metal_stdlib>
using namespace metal;

template <typename T> T larger(T a, T b) { return a > b ? a : b; }
template <typename To = int, typename From> To convert(From value) { return To(value); }
template <int N, typename T> T times(T value) { return value * N; }
kernel void deduce(device int* out) {
    out[0] = larger(3, 7);
    out[1] = convert(2.9f);
    out[2] = convert<uchar>(2056);
    out[3] = times<4>(3);
}
