// A function as a template argument.
//! covers: C++ temp.arg.nontype
//! oracle: clang
//! kernel: twice
//! arg 0: i32 5
//! expect 0: i32 47

#include <metal_stdlib>
using namespace metal;

static int step(int x, thread int& count) { ++count; return 2 * x + 1; }
template <int (*F)(int, thread int&)> int run(int x, int times) {
    int count = 0;
    while (count < times) x = F(x, count);
    return x;
}
kernel void twice(device int* data) { data[0] = run<step>(data[0], 3); }
