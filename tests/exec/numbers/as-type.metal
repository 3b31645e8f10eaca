// Bits move between types of one size.
//! covers: MSL 2.21
//! kernel: bits
//! arg 0: u32 0*4
//! expect 0: u32 0x40490fdb 0x3c003c00 3 0x3f800000

#include <metal_stdlib>
using namespace metal;

kernel void bits(device uint* out) {
    out[0] = as_type<uint>(3.14159274f);
    out[1] = as_type<uint>(half2(1.0h));
    uchar4 bytes = as_type<uchar4>(0x03020100u);
    out[2] = bytes.w;
    out[3] = as_type<uint>(as_type<float>(as_type<int>(1.0f)));
}
