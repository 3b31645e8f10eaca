// metal::array copies as a value.
//! covers: MSL 2.12
//! oracle: clang
//! kernel: copy
//! arg 0: i32 0*4
//! expect 0: i32 1 20 3 3

#include <metal_stdlib>
using namespace metal;

kernel void copy(device int* out) {
    array<int, 3> a = {1, 2, 3};
    array<int, 3> b = a;
    b[1] = 20;
    out[0] = a[0] + a[1] - 2;
    out[1] = b[1];
    out[2] = b[2];
    out[3] = int(a.size());
}
