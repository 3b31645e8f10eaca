// Calls of no function: an entry that is null, a function that the pipeline does not have, one of another
// type, and an index beyond the table.
//! covers: MSL 2.15, MSL 5.1.4
//! threads: 2
//! group: 2
//! faults: yes

//! kernel: apply
//! arg 0: f32 3 3
//! arg 1: functions twice null
//! expect 0: f32 6 0

//! kernel: apply
//! arg 0: f32 3 3
//! arg 1: functions twice nowhere
//! expect 0: f32 6 0

//! kernel: apply
//! arg 0: f32 3 3
//! arg 1: functions twice twice_int
//! expect 0: f32 6 0

//! kernel: apply
//! arg 0: f32 3 3
//! arg 1: functions twice
//! expect 0: f32 6 0

//! kernel: null_pointer
//! arg 0: f32 3 3
//! expect 0: f32 0 0

#include <metal_stdlib>
using namespace metal;

[[visible]] float twice(float x) {
  return 2 * x;
}
[[visible]] int twice_int(int x) {
  return 2 * x;
}

kernel void apply(device float* x, visible_function_table<float(float)> ops, uint i [[thread_position_in_grid]]) {
  x[i] = ops[i](x[i]);
}

kernel void null_pointer(device float* x, uint i [[thread_position_in_grid]]) {
  float (*f)(float) = nullptr;
  if (x[i] < 0) f = twice;
  x[i] = f(x[i]);
}
