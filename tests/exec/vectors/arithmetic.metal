// Componentwise operations, scalars that spread, compound assignment, comparison.
//! covers: MSL 2.2, MSL 3.1
//! kernel: add
//! arg 0: i32 0*16
//! expect 0: i32 11 22 33 44 2 4 6 8 1 0 3 2 0 0 1 1

#include <metal_stdlib>
using namespace metal;

kernel void add(device int4* out) {
    int4 v = int4(1, 2, 3, 4);
    out[0] = v + v * 10;
    int4 w = v;
    w *= 2;
    out[1] = w;
    out[2] = ((v - 1) ^ 1);
    out[3] = select(int4(0), int4(1), v > 2);
}
