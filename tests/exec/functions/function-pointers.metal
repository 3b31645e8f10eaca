// Pointers to functions: taken by name and by address, passed on, kept in variables, structures and tables,
// compared.
//! covers: C++ conv.func, C++ over.over
//! oracle: clang
//! threads: 4
//! group: 4

//! kernel: passed
//! arg 0: f32 1 2 3 4
//! expect 0: f32 1 4 9 16

//! kernel: chosen
//! arg 0: f32 3 3 3 3
//! expect 0: f32 6 9 6 9

//! kernel: from_constants
//! arg 0: f32 3 3 3 3
//! expect 0: f32 6 9 2 6

//! kernel: in_structures
//! arg 0: f32 3 3 3 3
//! expect 0: f32 15 18 15 18

//! kernel: compared
//! threads: 1
//! arg 0: u32 9 9 9 9 9 9
//! expect 0: u32 1 0 1 1 0 1

//! kernel: overloaded
//! threads: 1
//! arg 0: f32 0 0 0 0
//! expect 0: f32 10 103 104 13

//! kernel: recursive
//! threads: 1
//! arg 0: f32 0
//! expect 0: f32 40

//! kernel: deduced
//! arg 0: f32 1 2 3 4
//! expect 0: f32 3 6 11 18

//! kernel: evaluated
//! threads: 1
//! arg 0: u32 0
//! expect 0: u32 49

#include <metal_stdlib>
using namespace metal;

using F = float (*)(float);

float twice(float x) {
  return 2 * x;
}
float square(float x) {
  return x * x;
}
static float minus_one(float x) {
  return x - 1;
}

float call(F f, float x) {
  return f(x);
}
float call_reference(float (&f)(float), float x) {
  return f(x);
}
float call_type(float f(float), float x) {
  return (*f)(x);
}

kernel void passed(device float* x, uint i [[thread_position_in_grid]]) {
  x[i] = i == 0 ? call(&twice, 0.5f) : i == 1 ? call(square, x[i]) : i == 2 ? call_reference(square, x[i]) : call_type(square, x[i]);
}

kernel void chosen(device float* x, uint i [[thread_position_in_grid]]) {
  F f = i % 2 ? square : twice;
  x[i] = f(x[i]);
}

constant F table[] = {twice, &square, minus_one};

kernel void from_constants(device float* x, uint i [[thread_position_in_grid]]) {
  x[i] = table[i % 3](x[i]);
}

struct Step {
  F first;
  float add;
};

kernel void in_structures(device float* x, uint i [[thread_position_in_grid]]) {
  Step steps[2] = {{twice, 9}, {square, 9}};
  Step step = steps[i & 1];
  x[i] = step.first(x[i]) + step.add;
}

kernel void compared(device uint* out) {
  F f = twice, g = square, none = nullptr;
  out[0] = f == &twice;
  out[1] = f == g;
  out[2] = f != g;
  out[3] = none == nullptr;
  out[4] = none ? 1 : 0;
  out[5] = !none && f;
}

float over(float x) {
  return x + 10;
}
float over(int x) {
  return float(x + 100);
}
float call_int(float (*f)(int), int x) {
  return f(x);
}

kernel void overloaded(device float* out) {
  out[0] = call(over, 0);
  out[1] = call_int(&over, 3);
  float (*of_int)(int) = over;
  float (*of_float)(float) = &over;
  float (*both[1])(float) = {of_float};
  out[2] = of_int(4);
  out[3] = both[0](3);
}

// In a loop.
float step(uint n, float x) {
  return n == 0 ? x : x + 10;
}
float repeat(float (*f)(uint, float), uint n) {
  float x = 0;
  for (uint i = n; i > 0; i--) x = f(i, x);
  return x;
}
kernel void recursive(device float* out) {
  out[0] = repeat(step, 4);
}

template <typename G> float twice_called(G g, float x) {
  return g(x) + 2;
}
template <typename R, typename A> R once(R (*g)(A), A x) {
  return g(x);
}
kernel void deduced(device float* x, uint i [[thread_position_in_grid]]) {
  x[i] = i == 0 ? once(square, x[i]) + 2 : twice_called(square, x[i]);
}

constexpr int squared(int x) {
  return x * x;
}
constexpr int apply_now(int (*f)(int), int x) {
  return f(x);
}
constant constexpr int forty_nine = apply_now(squared, 7);
kernel void evaluated(device uint* out) {
  out[0] = forty_nine;
}
