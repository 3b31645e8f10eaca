// Tables of visible functions in structures that the host fills in, and in arrays of such.
//! covers: MSL 2.15, MSL 5.1.4
//! threads: 4
//! group: 4

//! kernel: apply
//! arg 0: f32 3 3 3 3
//! arg 1: u64 0 0 0
//! arg 2: functions twice square
//! arg 3: functions square twice
//! pointer 1: 0 to 2
//! pointer 1: 8 to 3
//! expect 0: f32 15 15 15 15

//! kernel: nulls
//! threads: 1
//! arg 0: u32 9 9
//! arg 1: u64 0 0 0
//! arg 2: functions twice
//! pointer 1: 8 to 2
//! expect 0: u32 1 0

#include <metal_stdlib>
using namespace metal;

[[visible]] float twice(float x) {
  return 2 * x;
}
[[visible]] float square(float x) {
  return x * x;
}

using Table = visible_function_table<float(float)>;

struct Arguments {
  Table first [[id(0)]];
  array<Table, 2> others [[id(1)]];
};

kernel void apply(device float* x, constant Arguments& arguments, uint i [[thread_position_in_grid]]) {
  x[i] = arguments.first[i & 1](x[i]) + arguments.others[0][i & 1](x[i]);
}

kernel void nulls(device uint* out, constant Arguments& arguments) {
  out[0] = is_null_visible_function_table(arguments.first);
  out[1] = is_null_visible_function_table(arguments.others[0]);
}
