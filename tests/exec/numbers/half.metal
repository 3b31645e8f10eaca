// Each operation rounds to half; overflow gives infinity; halves convert through float exactly.
//! covers: MSL 2.1, MSL 2.22
//! kernel: compute
//! math: safe
//! arg 0: f16 0*8
//! expect 0: f16 2048 65504 inf 0x0001 0.333251953125 -2 0x3555 1

#include <metal_stdlib>
using namespace metal;

kernel void compute(device half* out) {
    half large = 2048.0h, one = 1.0h;
    out[0] = large + one;
    half most = 65504.0h;
    out[1] = most;
    out[2] = most + most;
    out[3] = half(5.9604645e-8f);
    out[4] = one / 3.0h;
    out[5] = -one - one;
    out[6] = half(1.0f / 3.0f);
    out[7] = half(float(one));
}
