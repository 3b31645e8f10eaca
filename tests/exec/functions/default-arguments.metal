// Arguments left out take their defaults.
//! covers: C++ dcl.fct.default
//! oracle: clang
//! kernel: call
//! arg 0: i32 0*3
//! expect 0: i32 6 13 111

#include <metal_stdlib>
using namespace metal;

static int sum(int a, int b = 2, int c = 3) { return a + b + c; }
kernel void call(device int* out) {
    out[0] = sum(1);
    out[1] = sum(1, 9);
    out[2] = sum(1, 10, 100);
}
