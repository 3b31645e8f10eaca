// Conversion truncates, saturates, and makes zero of NaN.
//! covers: C++ conv.fpint
//! kernel: convert
//! math: safe
//! threads: 8
//! group: 8
//! arg 0: f32 1.9 -1.9 3e9 -3e9 nan inf 255.5 -0.5
//! arg 1: i32 0*8
//! arg 2: u32 0*8
//! arg 3: u8 0*8
//! expect 1: i32 1 -1 2147483647 -2147483648 0 2147483647 255 0
//! expect 2: u32 1 0 3000000000 0 0 0xffffffff 255 0
//! expect 3: u8 1 0 255 0 0 255 255 0

#include <metal_stdlib>
using namespace metal;

kernel void convert(device const float* in, device int* a, device uint* b, device uchar* c,
                    uint i [[thread_position_in_grid]]) {
    a[i] = int(in[i]);
    b[i] = uint(in[i]);
    c[i] = uchar(in[i]);
}
