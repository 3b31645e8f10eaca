// A function hides the record of its name; `struct` or `union` in front of the name finds the record (C++17
// [basic.scope.hiding]). Until the function is declared, its parameters included, the name alone finds it too.
//! covers: C++ basic.lookup
//! oracle: clang
//! kernel: both
//! arg 0: i32 5 7
//! arg 1: u32 0
//! expect 0: i32 12 7
//! expect 1: u32 0x40400000
//! kernel: bits
//! arg 0: u32 0
//! expect 0: u32 0x3f800000

#include <metal_stdlib>
using namespace metal;

union bits { float f; uint u; };
struct both { int a; int b; };

kernel void both(device both& x [[buffer(0)]], device uint& raw [[buffer(1)]])
{
    struct both y = x;
    union bits z;
    z.f = 3.0f;
    raw = z.u;
    x.a = y.a + y.b;
}

kernel void bits(device uint* out [[buffer(0)]])
{
    union bits z;
    z.f = 1.0f;
    out[0] = z.u;
}
