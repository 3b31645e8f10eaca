// Bit-fields: what they are promoted to, what an assignment leaves of a value, and what overloads see.
//! covers: C++ conv.prom, C++ class.bit, C++ expr.ass, C++ expr.incr, C++ over.ics.rank, C++ stmt.switch
//! oracle: clang
//! kernel: types
//! arg 0: i64 0*48
//! expect 0: i64 6 7 6 7 6 7 6 6 6 6 7 9 9 6 6 8 6 6 6 8 6 7 6 6 6 7 6 1 67 97 121 11 9 76 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: values
//! arg 0: i64 0*64
//! arg 1: i32 0
//! expect 0: i64 5 -3 -8 15 511 -1 2 4 8589934591 -4294967296 -524288 1 2147483647 4294967295 -2147483648 1 -1 -1 1 1 0 1 -1 -2 -1 -1 268435455 -1 137438953456 -3 -1 2 312 1 4 5 -1 15921 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: updates
//! arg 0: i64 0*64
//! arg 1: i32 0
//! expect 0: i64 6 7 0 7 7 -4 -4 3 3 4 3 5 6 3 4 -2 7 1 0 1 0 4294967295 -5 0 -3 -4 -6 5 518 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: layout
//! arg 0: i64 0*64
//! expect 0: i64 412 103 108 816 408 816 404 872 0 31 0 0 0 0 0 0 2 0 0 0 248 255 255 255 3 0 0 3 0 63 1 4294967264 4294967269 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0

#include <metal_stdlib>
using namespace metal;

enum Colour { RED, GREEN, BLUE };
enum Sign : int { NEGATIVE = -1, POSITIVE = 1 };

struct Bits {
    uint u3 : 3;
    uint u31 : 31;
    uint u32 : 32;
    int i3 : 3;
    int i32 : 32;
    uchar c4 : 4;
    char s4 : 4;
    ushort h9 : 9;
    short h16 : 16;
    bool flag : 1;
    bool wide_flag : 5;
    ulong l20 : 20;
    ulong l32 : 32;
    ulong l33 : 33;
    ulong l64 : 64;
    long s20 : 20;
    long s32 : 32;
    long s33 : 33;
    Colour colour : 4;
    Sign sign : 3;
};

static int kind(bool) { return 1; }
static int kind(char) { return 2; }
static int kind(uchar) { return 3; }
static int kind(short) { return 4; }
static int kind(ushort) { return 5; }
static int kind(int) { return 6; }
static int kind(uint) { return 7; }
static int kind(long) { return 8; }
static int kind(ulong) { return 9; }
static int promoted(int) { return 1; }
static int promoted(long) { return 2; }
static int promoted(ulong) { return 3; }
template <typename T> static int deduced(T value) { return kind(value); }
template <typename T> static int bound(const thread T& value) { return kind(value); }

kernel void types(device long* out [[buffer(0)]]) {
    Bits b = {};
    int n = 0;
    out[n++] = kind(+b.u3);
    out[n++] = kind(b.u3);
    out[n++] = kind(-b.u31);
    out[n++] = kind(~b.u32);
    out[n++] = kind(b.i3 + b.i3);
    out[n++] = kind(b.u3 + b.u32);
    out[n++] = kind(b.c4 << 1);
    out[n++] = kind(b.h9 * b.h16);
    out[n++] = kind(b.flag + b.wide_flag);
    out[n++] = kind(b.l20 + 0);
    out[n++] = kind(b.l32 + 0);
    out[n++] = kind(b.l33 + 0);
    out[n++] = kind(b.l64 + 0);
    out[n++] = kind(b.s20 + 0);
    out[n++] = kind(b.s32 + 0);
    out[n++] = kind(b.s33 + 0);
    out[n++] = kind(b.colour + 0);
    out[n++] = kind(b.sign + 0);
    out[n++] = kind(b.u3 << 1l);
    out[n++] = kind(1l << b.u3);
    out[n++] = kind(1 << b.u32);
    out[n++] = kind((b.u3 = 1));
    out[n++] = kind((b.u3 = 1) + 0);
    out[n++] = kind((b.u3 += 1) + 0);
    out[n++] = kind(++b.u3 + 0);
    out[n++] = kind(b.u3++ + 0);
    out[n++] = kind((b.i3, b.u3) + 0);
    out[n++] = kind(!b.u3);
    out[n++] = deduced(b.u3) + 10 * deduced(+b.u3);
    out[n++] = bound(b.u3) + 10 * bound(b.l20);
    out[n++] = promoted(b.u3) + 10 * promoted(b.s20) + 100 * promoted(b.flag);
    auto copy = b.u3;
    out[n++] = kind(copy) + sizeof(copy);
    decltype(b.l20) declared = 1;
    out[n++] = kind(declared);
    out[n++] = kind(true ? b.u3 : 1) + 10 * kind(true ? b.u3 : 1u);
}

kernel void values(device long* out [[buffer(0)]], constant int& x [[buffer(1)]]) {
    Bits b = {};
    int n = 0;
    b.u3 = 13 + x;
    out[n++] = b.u3;
    b.i3 = 5 + x;
    out[n++] = b.i3;
    b.s4 = 8 + x;
    out[n++] = b.s4;
    b.c4 = 255 + x;
    out[n++] = b.c4;
    b.h9 = 1023 + x;
    out[n++] = b.h9;
    b.h16 = 65535 + x;
    out[n++] = b.h16;
    b.flag = 2 + x;
    b.wide_flag = 256 + x;
    out[n++] = b.flag + b.wide_flag;
    b.l20 = 0xfffff + 5l + x;
    out[n++] = b.l20;
    b.l33 = -1l + x;
    out[n++] = b.l33;
    b.s33 = (1l << 32) + x;
    out[n++] = b.s33;
    b.s20 = 0x80000 + x;
    out[n++] = b.s20;
    b.l64 = -2l + x;
    out[n++] = b.l64 == 0xfffffffffffffffe;
    b.u31 = -1 + x;
    out[n++] = b.u31;
    b.u32 = -1 + x;
    out[n++] = b.u32;
    b.i32 = 0x80000000u + x;
    out[n++] = b.i32;
    b.colour = Colour(x + 2);
    out[n++] = b.colour == BLUE;
    b.sign = NEGATIVE;
    out[n++] = b.sign;
    b.u3 = 1;
    out[n++] = b.u3 - 2;
    out[n++] = b.u3 - 2 < 0;
    out[n++] = x - 1 < b.u3;
    out[n++] = x - 1 < b.u32;
    out[n++] = x - 1 < b.l20;
    out[n++] = -b.u3;
    out[n++] = ~b.u3;
    out[n++] = (b.u3 - 3) / 2;
    out[n++] = (b.u3 - 3) >> 1;
    out[n++] = (b.u32 << 4) >> 4;
    out[n++] = (b.u31 << 4) >> 4;
    b.l33 = 0x1ffffffff;
    out[n++] = b.l33 << 4;
    out[n++] = b.u3 * -1.5f * 2;
    out[n++] = (b.i3 = 7 + x);
    out[n++] = (b.flag = 7 + x) + 1;
    out[n++] = (b.c4 = b.h9 = 300 + x) + b.h9;
    switch (b.u3 - 2) {
    case -1: out[n++] = 1; break;
    default: out[n++] = 2;
    }
    b.u3 = 7;
    switch (b.u3) {
    case -1: out[n++] = 3; break;
    case 7: out[n++] = 4; break;
    }
    b.i3 = 7;
    switch (b.i3) {
    case -1: out[n++] = 5; break;
    default: out[n++] = 6;
    }
    out[n++] = x ? b.u3 : b.u3 - 8;
    Bits listed = {1u, 2u, 3u, -1, 5, 6, 7, 8, 9, true};
    out[n++] = listed.u3 + listed.u31 * 10 + listed.i3 * 100 + listed.c4 * 1000 + listed.flag * 10000;
    Bits copied = listed;
    out[n++] = copied.h9 + copied.h16 + copied.l20;
}

kernel void updates(device long* out [[buffer(0)]], constant int& x [[buffer(1)]]) {
    Bits b = {};
    int n = 0;
    b.u3 = 6 + x;
    out[n++] = b.u3++;
    out[n++] = b.u3++;
    out[n++] = b.u3;
    out[n++] = --b.u3;
    out[n++] = b.u3--;
    b.i3 = 3 + x;
    out[n++] = ++b.i3;
    out[n++] = b.i3--;
    out[n++] = b.i3;
    b.u3 = 5;
    b.u3 += 6;
    out[n++] = b.u3;
    b.u3 -= 7;
    out[n++] = b.u3;
    b.u3 = 5;
    b.u3 *= -1;
    out[n++] = b.u3;
    b.u3 = 6;
    b.u3 /= -2;
    out[n++] = b.u3;
    b.u3 = 7;
    b.u3 <<= 1;
    out[n++] = b.u3;
    b.u3 >>= 1;
    out[n++] = b.u3;
    b.u3 ^= ~0;
    out[n++] = b.u3;
    b.i3 = -4;
    b.i3 >>= 1;
    out[n++] = b.i3;
    b.s4 = -8;
    b.s4 -= 1;
    out[n++] = b.s4;
    b.flag += 5;
    out[n++] = b.flag;
    b.flag &= 2;
    out[n++] = b.flag;
    b.l33 = 0x1ffffffff;
    b.l33 += 2;
    out[n++] = b.l33;
    b.l20 = 0xfffff;
    b.l20++;
    out[n++] = b.l20;
    b.u32 = 0;
    b.u32 -= 1;
    out[n++] = b.u32;
    int i = -10 + x;
    b.u3 = 2;
    i /= b.u3;
    out[n++] = i;
    i = -10 + x;
    i %= b.u3;
    out[n++] = i;
    i = -10 + x;
    i >>= b.u3;
    out[n++] = i;
    i += b.u3 - 3;
    out[n++] = i;
    float f = 3;
    f *= -b.u3;
    out[n++] = f;
    f = 3;
    f -= b.u3 - 4;
    out[n++] = f;
    b.u3 = b.h9 = b.l20 = 0x1ff + x;
    out[n++] = b.u3 + b.h9;
    out[n++] = (b.u3 += 3) + (b.i3 -= 1);
    out[n++] = b.c4 + b.h16 + b.s33;
}

struct A {
    char c;
    int x : 5;
    int y : 28;
    char d;
};
struct B {
    uchar a : 3, b : 6, : 0, c : 1;
};
struct __attribute__((packed)) C {
    uchar a : 3;
    uint b : 31;
    ushort c : 15;
    char d;
};
struct D {
    long a : 40;
    int b : 20;
    short c : 16;
    bool d : 1;
};
struct E {
    int : 7;
    int a : 2;
    int : 0;
    char b;
    int c : 3;
};
struct F {
    char a;
    int b : 4 __attribute__((aligned(8)));
    int c : 4;
};
union G {
    uint a : 5;
    uint b;
    uchar c : 3;
};

kernel void layout(device long* out [[buffer(0)]]) {
    int n = 0;
    out[n++] = sizeof(A) + 100 * alignof(A);
    out[n++] = sizeof(B) + 100 * alignof(B);
    out[n++] = sizeof(C) + 100 * alignof(C);
    out[n++] = sizeof(D) + 100 * alignof(D);
    out[n++] = sizeof(E) + 100 * alignof(E);
    out[n++] = sizeof(F) + 100 * alignof(F);
    out[n++] = sizeof(G) + 100 * alignof(G);
    out[n++] = sizeof(Bits) + 100 * alignof(Bits);
    A a = {};
    a.x = -1;
    a.d = 2;
    thread uchar* p = (thread uchar*)&a;
    for (uint i = 0; i < sizeof(A); i++) out[n++] = p[i];
    C c = {};
    c.b = 0x7fffffff;
    c.d = 3;
    p = (thread uchar*)&c;
    for (uint i = 0; i < sizeof(C); i++) out[n++] = p[i];
    B b = {};
    b.b = 63;
    b.c = 1;
    p = (thread uchar*)&b;
    for (uint i = 0; i < sizeof(B); i++) out[n++] = p[i];
    G g;
    g.b = 0xffffffff;
    g.a = 0;
    out[n++] = g.b;
    g.c = 5;
    out[n++] = g.b;
}
