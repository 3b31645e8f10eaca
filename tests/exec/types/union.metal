// Members of a union share their bytes.
//! covers: C++ class.union
//! oracle: clang
//! kernel: pun
//! arg 0: u32 0*4
//! expect 0: u32 0x3f800000 0 128 63

#include <metal_stdlib>
using namespace metal;

union Word { float f; uint u; uchar bytes[4]; };
kernel void pun(device uint* out) {
    Word word;
    word.f = 1.0f;
    out[0] = word.u;
    for (uint i = 0; i < 3; ++i) out[1 + i] = word.bytes[i + 1];
}
