// numeric_limits and the macros of constants.
//! covers: MSL 6.5
//! oracle: exact
//! kernel: limits
//! arg 0: f32 0*4
//! arg 1: i64 0*4
//! expect 0: f32 0x7f7fffff 0x00800000 0x40490fdb inf
//! expect 1: i64 255 -128 2147483647 65504

#include <metal_stdlib>
using namespace metal;

kernel void limits(device float* reals, device long* integers) {
    reals[0] = numeric_limits<float>::max();
    reals[1] = FLT_MIN;
    reals[2] = M_PI_F;
    reals[3] = numeric_limits<float>::infinity();
    integers[0] = numeric_limits<uchar>::max();
    integers[1] = numeric_limits<char>::min();
    integers[2] = INT_MAX;
    integers[3] = long(float(numeric_limits<half>::max()));
}
