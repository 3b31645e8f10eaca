// Tables of visible functions: indices that are alike and that differ between lanes, sizes, arrays of tables,
// entries in variables, functions of several types.
//! covers: MSL 2.15, MSL 5.1.4
//! threads: 40
//! group: 32

//! kernel: apply
//! arg 0: f32 (1 2 3 4)*10
//! arg 1: functions twice square
//! arg 2: u32 1
//! expect 0: f32 (1 4 9 16)*10

//! kernel: by_lane
//! arg 0: f32 3*40
//! arg 1: functions twice square negate_float minus_one
//! expect 0: f32 (6 9 -3 2)*10

//! kernel: sizes
//! threads: 1
//! arg 0: u32 9 9 9
//! arg 1: functions twice square null
//! expect 0: u32 3 0 0

//! kernel: of_tables
//! threads: 3
//! group: 3
//! arg 0: f32 5 5 5
//! arg 1: functions twice
//! arg 2: functions square
//! arg 3: functions minus_one
//! expect 0: f32 10 25 4

//! kernel: chained
//! threads: 4
//! group: 4
//! arg 0: f32 2 2 2 2
//! arg 1: functions twice square
//! arg 2: functions apply_both
//! expect 0: f32 8 8 8 8

//! kernel: with_memory
//! threads: 3
//! group: 3
//! arg 0: f32 1 2 3
//! arg 1: functions store_sum store_product
//! expect 0: f32 2 4 6

//! kernel: of_records
//! threads: 2
//! group: 2
//! arg 0: f32 0 0 0 0
//! arg 1: functions swapped doubled
//! expect 0: f32 2 1 2 4

#include <metal_stdlib>
using namespace metal;

using Op = float(float);

[[visible]] float twice(float x) {
  return 2 * x;
}
[[visible]] float square(float x) {
  return x * x;
}
[[stitchable]] float minus_one(float x) {
  return x - 1;
}

template <typename T> [[visible]] T negate(T x) {
  return -x;
}
template [[host_name("negate_float")]] [[visible]] float negate<float>(float);

// Of another type: no candidate.
[[visible]] int twice_int(int x) {
  return 2 * x;
}

kernel void apply(device float* x [[buffer(0)]], visible_function_table<Op> ops [[buffer(1)]],
                  constant uint& which [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  x[i] = ops[which](x[i]);
}

kernel void by_lane(device float* x, visible_function_table<float(float)> ops, uint i [[thread_position_in_grid]]) {
  auto op = ops[i % ops.size()];
  x[i] = op ? op(x[i]) : 0;
}

kernel void sizes(device uint* out, visible_function_table<Op> ops) {
  out[0] = ops.size();
  out[1] = ops.empty();
  out[2] = is_null_visible_function_table(ops);
}

kernel void of_tables(device float* x [[buffer(0)]], array<visible_function_table<Op>, 3> ops [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
  x[i] = ops[i][0](x[i]);
}

// A visible function that is given a table and calls others.
[[visible]] float apply_both(float x, visible_function_table<Op> ops) {
  return ops[1](x) + (*ops[0])(x);
}

kernel void chained(device float* x, visible_function_table<Op> ops,
                    visible_function_table<float(float, visible_function_table<Op>)> outer,
                    uint i [[thread_position_in_grid]]) {
  x[i] = outer[0](x[i], ops);
}

[[visible]] void store_sum(device float* x, uint i) {
  x[i] = x[i] + x[i];
}
[[visible]] void store_product(device float* x, uint i) {
  x[i] = x[i] * 2;
}

kernel void with_memory(device float* x, visible_function_table<void(device float*, uint)> ops,
                        uint i [[thread_position_in_grid]]) {
  ops[i & 1](x, i);
}

struct Two {
  float a, b;
};
[[visible]] Two swapped(Two t) {
  return Two{t.b, t.a};
}
[[visible]] Two doubled(Two t) {
  t.a *= 2;
  t.b *= 2;
  return t;
}

kernel void of_records(device Two* out, visible_function_table<Two(Two)> ops, uint i [[thread_position_in_grid]]) {
  out[i] = ops[i](Two{1, 2});
}
