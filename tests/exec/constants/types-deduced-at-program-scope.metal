// Constants of program scope whose types are deduced, with their address space before or after `auto`.
//! covers: C++ dcl.spec.auto, MSL 4.2
//! oracle: clang
//! kernel: read
//! arg 0: f32 0*4
//! expect 0: f32 3 0.5 7 12

#include <metal_stdlib>
using namespace metal;

constant constexpr auto count = 3;
constexpr constant auto half_of = 0.5f;
constant auto pair = int2(3, 4);

struct Rows { array<int, count> sizes; };

kernel void read(device float* out)
{
    out[0] = count;
    out[1] = half_of;
    out[2] = pair.x + pair.y;
    out[3] = sizeof(Rows);
}
