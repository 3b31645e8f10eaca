// A constant that is not given can be asked for.
//! covers: MSL 5.8
//! kernel: maybe
//! arg 0: i32 0
//! expect 0: i32 7
//! kernel: maybe
//! constant 3: 9
//! arg 0: i32 0
//! expect 0: i32 9

#include <metal_stdlib>
using namespace metal;

constant int given [[function_constant(3)]];
constant int value = is_function_constant_defined(given) ? given : 7;
kernel void maybe(device int* out) { out[0] = value; }
