//! kernel: values
//! threads: 1
//! arg 0: f32 0*6
//! expect 0: f32 3.5 3 8 2 4 16
//! oracle: exact
#include <metal_stdlib>
using namespace metal;

template <typename T> constant T pi = T(3.5);
template <typename T, int N> constant T scaled = T(N) * T(4);
template <typename T> constant int size_of = sizeof(T);
template <> constant int size_of<half> = 16;

kernel void values(device float* out [[buffer(0)]]) {
    out[0] = pi<float>;
    out[1] = pi<int>;
    out[2] = scaled<int, 2>;
    out[3] = size_of<short>;
    out[4] = size_of<float>;
    out[5] = size_of<half>;
}
