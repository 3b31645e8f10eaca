// The attribute that names groups of functions changes no call: of declarations, expression statements and returns.
//! covers: MSL 2.16
//! oracle: exact
//! kernel: hinted
//! threads: 4
//! group: 4
//! arg 0: f32 1 2 3 4
//! arg 1: functions twice square
//! expect 0: f32 5 16 33 56

#include <metal_stdlib>
using namespace metal;

[[visible]] float twice(float x) {
    return 2 * x;
}
[[visible]] float square(float x) {
    return x * x;
}

static float through(visible_function_table<float(float)> table, float x) {
    [[function_groups("doubling")]] float y = table[0](x);
    [[function_groups("squaring", "others")]] y += table[1](x);
    [[function_groups("doubling", "squaring")]] return y + table[0](table[1](x));
}

kernel void hinted(device float* x [[buffer(0)]], visible_function_table<float(float)> table [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
    x[i] = through(table, x[i]);
}
