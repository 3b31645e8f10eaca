// Small integers are computed as int; conversions wrap.
//! covers: C++ conv.prom, C++ conv.integral
//! oracle: clang
//! kernel: promote
//! arg 0: i32 0*6
//! expect 0: i32 300 44 -56 65535 1 -1

#include <metal_stdlib>
using namespace metal;

kernel void promote(device int* out) {
    uchar a = 200, b = 100;
    out[0] = a + b;
    out[1] = uchar(a + b);
    out[2] = char(a);
    ushort wide = ushort(-1);
    out[3] = wide;
    out[4] = -1 > 1u;
    out[5] = int(short(wide));
}
