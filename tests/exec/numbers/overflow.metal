// Signed and unsigned arithmetic wraps, in 32 and 64 bits.
//! covers: MSL 3.1
//! kernel: wrap
//! arg 0: i32 0*2
//! arg 1: i64 0*3
//! expect 0: i32 0x80000000 -2
//! expect 1: i64 0x8000000000000000 0xfffffffe00000001 -1

#include <metal_stdlib>
using namespace metal;

kernel void wrap(device int* out, device long* wide) {
    int largest = 0x7fffffff;
    out[0] = largest + 1;
    out[1] = largest * 2;
    long far = 0x7fffffffffffffff;
    wide[0] = far + 1;
    wide[1] = long(ulong(0xffffffffu) * 0xffffffffu);
    wide[2] = long(~0ul);
}
