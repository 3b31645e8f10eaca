// Numbers and vectors of them are integral or of floating point; `is_scalar` tells them apart.
//! covers: MSL 1.5.2
//! kernel: traits
//! arg 0: i32 -5 7 0 -1
//! arg 1: u32 0*2
//! expect 0: i32 -1 1 0 -1
//! expect 1: u32 0xD6 2

#include <metal_stdlib>
using namespace metal;

template <typename T, typename = enable_if_t<is_integral<T>::value>>
T direction(T x) { return select(select(T(0), T(1), x > T(0)), T(-1), x < T(0)); }
template <typename T> constexpr constant uint kinds =
    (is_integral_v<T> ? 1 : 0) + (is_floating_point_v<T> ? 2 : 0) + (is_scalar_v<T> ? 4 : 0);

kernel void traits(device int4* x [[buffer(0)]], device uint* out [[buffer(1)]]) {
    x[0] = direction(x[0]);
    out[0] = kinds<float> + 8 * kinds<float3> + 64 * (kinds<ushort2> + kinds<float2x2> * 4 + 2);
    out[1] = kinds<half4>;
}
