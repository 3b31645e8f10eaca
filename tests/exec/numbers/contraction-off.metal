// `#pragma METAL fp contract`, `clang fp contract` and `STDC FP_CONTRACT` in every place where they may be.
// x = 1 + 2^-12: the product x * x rounds to 1 + 2^-11, so that the sum is 0; a fused multiply-add gives 2^-24.
//! oracle: clang
//! arg 0: f32 1.000244140625*32
//! arg 1: f32 1*224
//! arg 2: u32 1
//! kernel: file
//! expect 1: f32 0*224
//! threads: 32
//! group: 32
//! kernel: blocks
//! expect 1: f32 0*224
//! threads: 32
//! group: 32
//! kernel: callers
//! expect 1: f32 0*224
//! threads: 32
//! group: 32
#include <metal_stdlib>
using namespace metal;
#define ARGUMENTS device const float* x [[buffer(0)]], device float* o [[buffer(1)]], constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]
constant float S = -1.00048828125f;

#pragma METAL fp contract(off)

struct Off {
  float s;
  void add(float a, float b) { s += a * b; }
  float operator()(float a, float b) { return a * b + s; }
};

template <typename T> T off(T a, T b, T c) { return a * b - c; }

#pragma STDC FP_CONTRACT DEFAULT
#pragma STDC FP_CONTRACT OFF

kernel void file(ARGUMENTS) {
  float s = S;
  for (uint j = 0; j < n; j++) s += x[i] * x[i];
  o[i] = s;
  o[32 + i] = x[i] * x[i] + S;
  o[64 + i] = -S - x[i] * x[i];
  float2 v = float2(x[i]) * float2(x[i]);
  v += S;
  o[96 + i] = v.x;
  o[128 + i] = v.y;
  Off sum{S};
  sum.add(x[i], x[i]);
  o[160 + i] = sum.s;
  auto lambda = [=](float a) { return a * a + S; };
  o[192 + i] = lambda(x[i]);
}

#pragma STDC FP_CONTRACT DEFAULT

kernel void blocks(ARGUMENTS) {
  #pragma METAL fp contract(off)
  float s = S;
  for (uint j = 0; j < n; j++) { s += x[i] * x[i]; }
  o[i] = s;
  {
    #pragma clang fp contract(fast)
    #pragma clang fp contract(off)
    s = S + x[i] * x[i];
  }
  o[32 + i] = s;
  if (n > 0) {
    // Within an expression: not across statements.
    #pragma clang fp contract(on)
    float p = x[i] * x[i];
    s = p + S;
  }
  o[64 + i] = s;
  {
    #pragma METAL fp math_mode(fast)
    s = fma(x[i], 1.0f, S + x[i] * x[i]) - x[i];
  }
  o[96 + i] = s;
  o[128 + i] = x[i] * x[i] + S;
  auto lambda = [&](float a) { return a * a + S; };
  o[160 + i] = lambda(x[i]);
  o[192 + i] = ({ float p = x[i] * x[i]; p + S; });
}

// What is called follows the pragmas around its own definition.
kernel void callers(ARGUMENTS) {
  Off sum{S};
  sum.add(x[i], x[i]);
  o[i] = sum.s;
  o[32 + i] = Off{S}(x[i], x[i]);
  o[64 + i] = off(x[i], x[i], -S);
  {
    _Pragma("STDC FP_CONTRACT OFF")
    o[96 + i] = x[i] * x[i] + S;
  }
  switch (n) {
    #pragma METAL fp contract(off)
    case 1: o[128 + i] = x[i] * x[i] + S; break;
    default: o[128 + i] = 1;
  }
  auto lambda = [=](float a) {
    #pragma METAL fp contract(off)
    return a * a + S;
  };
  o[160 + i] = lambda(x[i]);
  o[192 + i] = ({
    #pragma METAL fp contract(off)
    x[i] * x[i] + S;
  });
}
