// A type without declarators, as generators leave it where all variables were removed.
//! oracle: clang
//! kernel: empty
//! arg 0: i32 1 2
//! expect 0: i32 3 2

#include <metal_stdlib>
using namespace metal;

kernel void empty(device int* out)
{
    int;
    const unsigned int;
    for (int i = 0; i < 2; ++i) {
        float;
        out[0] += 1;
    }
    if (out[0] == 3) long;
}
