// References to locals, to array elements and to device memory change what they refer to.
//! covers: C++ dcl.ref
//! kernel: through
//! arg 0: i32 1 2 3
//! expect 0: i32 11 5 13

#include <metal_stdlib>
using namespace metal;

static void add(thread int& value, int amount) { value += amount; }
static void add(device int& value, int amount) { value += amount; }
kernel void through(device int* data) {
    int local[2] = {1, 2};
    thread int& second = local[1];
    add(second, 3);
    add(data[0], 10);
    device int& last = data[2];
    last += 10;
    data[1] = local[1];
}
