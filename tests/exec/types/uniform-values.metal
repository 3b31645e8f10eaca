// Values of uniform type: the same in all threads, converted to and from plain ones, and the arithmetic of both.
//! covers: MSL 2.14
//! oracle: exact
//! kernel: mixed
//! threads: 4
//! group: 4
//! arg 0: i32 5
//! arg 1: i32 0*4
//! arg 2: i32 0*3
//! expect 1: i32 13 14 15 16
//! expect 2: i32 5 8 1

#include <metal_stdlib>
#include <metal_uniform>
using namespace metal;

static int sum(uniform<int> a, int b) { return a + b; }

kernel void mixed(constant uniform<int>& given [[buffer(0)]], device int* out [[buffer(1)]],
                  device int* facts [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    uniform<int> three = 3;
    uniform<int> eight = given + three;
    int varying = int(i);
    out[i] = sum(eight, varying) + given;
    facts[0] = given;
    facts[1] = eight;
    uniform<bool> larger = eight > given;
    if (larger) facts[2] = is_uniform<decltype(eight)>::value;
}
