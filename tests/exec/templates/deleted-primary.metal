// A deleted template is called through its full specialisations.
//! covers: C++ temp.expl.spec
//! kernel: convert
//! arg 0: f32 0*2
//! expect 0: f32 2.5 7
#include <metal_stdlib>
using namespace metal;
template <typename To, typename From>
inline To from_cache(From v) = delete;
template <> inline float from_cache<float, half>(half v) { return float(v); }
template <> inline float from_cache<float, uchar>(uchar v) { return float(v) + 1; }

kernel void convert(device float* out [[buffer(0)]]) {
  assert(out != nullptr && 1 < 2);
  out[0] = from_cache<float, half>(half(2.5h));
  out[1] = from_cache<float>(uchar(6));
}
