// Brackets as deep within one another as clang takes them: parentheses, casts, and statement expressions.
//! kernel: nested
//! threads: 1
//! group: 1
//! arg 0: i32 1 0 0 0
//! expect 0: i32 1 2 3 97
//! covers: C++ expr.cast
//! oracle: clang
#include <metal_stdlib>

#define P4(x) ((((x))))
#define P16(x) P4(P4(P4(P4(x))))
#define P64(x) P16(P16(P16(P16(x))))
#define C4(x) (int)((short)((int)((char)(x))))
#define C16(x) C4(C4(C4(C4(x))))
#define S1(x) ({ int v = x + 1; v; })
#define S4(x) S1(S1(S1(S1(x))))
#define S16(x) S4(S4(S4(S4(x))))

kernel void nested(device int* out [[buffer(0)]]) {
    int one = out[0];
    out[1] = P64(P64(P64(P16(P16(P16(one + 1))))));
    out[2] = C16(C16(C16(C16(one + 2))));
    out[3] = S16(S16(S16(S16(S16(S16(one))))));
}
