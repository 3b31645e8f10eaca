// bfloat keeps eight bits of precision and float's range.
//! covers: MSL 2.1, MSL 2.22
//! kernel: compute
//! math: safe
//! arg 0: bf16 0*5
//! expect 0: bf16 256 0x3eab 1e38 0x4049 -2

#include <metal_stdlib>
using namespace metal;

kernel void compute(device bfloat* out) {
    bfloat large = 256.0bf, one = 1.0bf;
    out[0] = large + one;
    out[1] = one / bfloat(3.0f);
    out[2] = bfloat(1e38f);
    out[3] = bfloat(3.14159265f);
    out[4] = -one - one;
}
