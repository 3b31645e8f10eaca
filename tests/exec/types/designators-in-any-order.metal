// Designators that name members in another order than they are declared in, and after the last member.
//! kernel: designated
//! threads: 1
//! group: 1
//! arg 0: i32 0*8
//! expect 0: i32 1 2 3 5 6 7 0 4
//! covers: C++ dcl.init.aggr
//! oracle: clang
#include <metal_stdlib>

struct Three {
    int a, b, c;
};
struct Outer {
    Three inner;
    int n = 4;
};

kernel void designated(device int* out [[buffer(0)]]) {
    Three backwards = {.c = 3, .b = 2, .a = 1};
    Three onwards = {.b = 6, 7, .a = 5};
    Outer outer = {.n = 4, .inner = {.b = 0}};
    out[0] = backwards.a;
    out[1] = backwards.b;
    out[2] = backwards.c;
    out[3] = onwards.a;
    out[4] = onwards.b;
    out[5] = onwards.c;
    out[6] = outer.inner.b + outer.inner.c;
    out[7] = outer.n;
}
