// A template whose types do not fit is no candidate.
//! covers: C++ temp.deduct
//! kernel: pick
//! arg 0: i32 0*2
//! expect 0: i32 1 2

#include <metal_stdlib>
using namespace metal;

template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true> int kind(T) { return 2; }
template <typename T, enable_if_t<is_integral_v<T>, bool> = true> int kind(T) { return 1; }
kernel void pick(device int* out) {
    out[0] = kind(3u);
    out[1] = kind(half(1.0));
}
