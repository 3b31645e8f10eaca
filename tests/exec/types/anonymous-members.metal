// Members of anonymous structs and unions are members of what encloses them.
//! covers: C++ class.union
//! oracle: clang
//! kernel: look
//! arg 0: u32 0*3
//! expect 0: u32 0x22221111 0x1111 0x2222

#include <metal_stdlib>
using namespace metal;

struct Pair {
    union {
        struct { ushort low; ushort high; };
        uint whole;
    };
};
kernel void look(device uint* out) {
    Pair pair;
    pair.low = 0x1111;
    pair.high = 0x2222;
    out[0] = pair.whole;
    out[1] = pair.low;
    out[2] = pair.high;
}
