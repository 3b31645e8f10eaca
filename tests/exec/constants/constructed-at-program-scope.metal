// Constants of program scope with constructor initialisers, in parentheses and in braces.
//! covers: MSL 4.2, C++ dcl.init
//! kernel: read
//! arg 0: f32 0*12
//! expect 0: f32 1 2 3 4 0.5 0.5 7 8 9 2 3 6

#include <metal_stdlib>
using namespace metal;

struct Point {
    float x, y;
    constexpr Point(float a, float b) : x(a), y(b) {}
    constexpr explicit Point(float a) : Point(a, a) {}
};

constant float4 v(1, 2, 3, 4);
constant float2 halves(float2(0.5f));
constant Point p(7, 8);
constant Point q{9};
constexpr constant Point r = Point(2, 3);
constant int size(3);
constant float scaled(float(size) * 2);
constant Point list[2] = {Point(1), Point(2, 3)};

kernel void read(device float* out)
{
    out[0] = v.x; out[1] = v.y; out[2] = v.z; out[3] = v.w;
    out[4] = halves.x; out[5] = halves.y;
    out[6] = p.x; out[7] = p.y;
    out[8] = q.x;
    out[9] = list[1].x;
    out[10] = r.y;
    out[11] = scaled;
}
