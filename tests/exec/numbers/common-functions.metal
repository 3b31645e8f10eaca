// clamp, mix, step, smoothstep, saturate, sign.
//! covers: MSL 6.2
//! oracle: exact
//! kernel: common
//! arg 0: f32 0*9
//! expect 0: f32 1 -1 2.5 0 1 0.5 1 -1 0

#include <metal_stdlib>
using namespace metal;

kernel void common(device float* out) {
    out[0] = clamp(5.0f, -1.0f, 1.0f);
    out[1] = clamp(-5.0f, -1.0f, 1.0f);
    out[2] = mix(1.0f, 4.0f, 0.5f);
    out[3] = step(2.0f, 1.0f);
    out[4] = step(2.0f, 2.0f);
    out[5] = smoothstep(0.0f, 2.0f, 1.0f);
    out[6] = saturate(7.0f);
    out[7] = sign(-3.0f);
    out[8] = sign(0.0f);
}
