// Fast math: results that are normal numbers are right up to both ends; beyond are zero and infinity.
//! kernel: powers
//! threads: 5
//! group: 5
//! arg 0: f32 -87 -86.99 88.7 88.73 -88.1
//! arg 1: f32 0*5
//! expect 1: f32 1.6458114e-38 1.6623557e-38 3.3259768e38 inf 0 within 4 ulp
//! arg 2: f32 -126 -127.1 127.5 128 -125.6
//! arg 3: f32 0*5
//! expect 3: f32 1.1754944e-38 0 2.4061597e38 inf 1.5510757e-38 within 4 ulp
//! arg 4: f32 -37.92 -38 38.5 38.54 -37.7
//! arg 5: f32 0*5
//! expect 5: f32 1.2022695e-38 0 3.1622777e38 inf 1.9952588e-38 within 4 ulp
//! kernel: pairs
//! threads: 5
//! group: 5
//! arg 0: f32 2 3 0 -2 1e30
//! arg 1: f32 -126 80.7 1.5e-38 -126 1e-30
//! arg 2: f32 0*5
//! expect 2: f32 1.1754944e-38 3.189215e38 0 1.1754944e-38 1 within 100 ulp
//! arg 3: f32 0*5
//! expect 3: f32 2 3 0 -2 0 within 1e-29 absolute
//! kernel: roots
//! threads: 5
//! group: 5
//! arg 0: f32 0 4 -0.0 1.1754944e-38 5e37
//! arg 1: f32 0*5
//! expect 1: f32 inf 0.5 -inf 9.223372e18 1.4142136e-19 within 2 ulp
//! arg 2: f32 0*5
//! expect 2: f32 inf 0.5 -inf 9.223372e18 1.4142136e-19 within 3 ulp
//! arg 3: f32 0*5
//! expect 3: f32 0 2 -0.0 1.0842022e-19 7.0710677e18 within 1 ulp
//! arg 4: f32 0*5
//! expect 4: f32 inf 0.25 -inf 8.507059e37 2e-38 within 3 ulp

#include <metal_stdlib>
using namespace metal;

kernel void powers(device const float* e [[buffer(0)]], device float* exps [[buffer(1)]],
                   device const float* b [[buffer(2)]], device float* exp2s [[buffer(3)]],
                   device const float* d [[buffer(4)]], device float* exp10s [[buffer(5)]],
                   uint i [[thread_position_in_grid]]) {
  exps[i] = exp(e[i]);
  exp2s[i] = fast::exp2(b[i]);
  exp10s[i] = exp10(d[i]);
}

kernel void pairs(device const float* x [[buffer(0)]], device const float* y [[buffer(1)]], device float* powers [[buffer(2)]],
                  device float* rests [[buffer(3)]], uint i [[thread_position_in_grid]]) {
  powers[i] = pow(x[i], y[i]);
  rests[i] = fmod(x[i], abs(y[i]));
}

kernel void roots(device const float* x [[buffer(0)]], device float* reciprocals [[buffer(1)]], device float* quotients [[buffer(2)]],
                  device float* squares [[buffer(3)]], device float* inverses [[buffer(4)]], uint i [[thread_position_in_grid]]) {
  reciprocals[i] = rsqrt(x[i]);
  quotients[i] = 1 / sqrt(x[i]);
  squares[i] = sqrt(x[i]);
  inverses[i] = 1 / x[i];
}
