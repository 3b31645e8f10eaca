// Constant expressions decide array bounds and template arguments.
//! covers: C++ dcl.constexpr
//! oracle: clang
//! kernel: fold
//! arg 0: u32 0*3
//! expect 0: u32 120 5 3

#include <metal_stdlib>
using namespace metal;

constexpr uint factorial(uint n) { return n <= 1 ? 1 : n * factorial(n - 1); }
template <uint N> struct Buffer { uint data[N]; };
constexpr int loop(int n) { int bits = 0; while (n > 0) { n /= 2; ++bits; } return bits; }
static_assert(factorial(4) == 24, "folded");
kernel void fold(device uint* out) {
    out[0] = integral_constant<uint, factorial(5)>::value;
    out[1] = sizeof(Buffer<factorial(3) - 1>) / 4;
    out[2] = loop(7);
}
