// Plain and scoped enumerations, with given and implied values.
//! covers: C++ dcl.enum
//! oracle: clang
//! kernel: values
//! arg 0: i32 0*5
//! expect 0: i32 0 5 6 2 1

#include <metal_stdlib>
using namespace metal;

enum Plain { first, second = 5, third };
enum class Scoped : uchar { one = 1, two };
kernel void values(device int* out) {
    out[0] = first;
    out[1] = second;
    out[2] = third;
    out[3] = int(Scoped::two);
    Scoped scoped = Scoped::one;
    out[4] = scoped == Scoped::one;
}
