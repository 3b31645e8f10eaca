#include <metal_stdlib>
using namespace metal;

[[visible]] float twice(float x) {
  return 2 * x;
}
[[visible]] float square(float x) {
  return x * x;
}

kernel void apply(device float* x, visible_function_table<float(float)> ops, uint i [[thread_position_in_grid]]) {
  x[i] = ops[i % ops.size()](x[i]);
}
