// The usual arithmetic conversions of bool, char, short and wider integers, with floats, and what assignments
// narrow to.
//! covers: MSL 2.1, MSL 2.22, C++ conv.prom, C++ conv.integral, C++ conv.fpint, C++ conv.bool
//! covers: C++ expr.arith, C++ expr.shift, C++ expr.rel, C++ expr.cond, C++ expr.ass, C++ expr.incr
//! covers: C++ stmt.switch, C++ lex.literal, C++ temp.deduct
//! oracle: clang
//! kernel: types
//! arg 0: i64 0*80
//! expect 0: i64 60606 60606 90807 80709 101010 60606 10706 70606 60608 10101 60602 80706 20510 40302 10705 100706 80706 70602 20606 416 60102 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: values
//! arg 0: i64 0*80
//! arg 1: i32 0
//! expect 0: i64 -200 400 -60000 120000 1800000000 3600000000 -20000 -200 -201 -2 -1 3 1 0 4294967295 0 1 1 0 1 1 1 0 1 0 1 0 1 1 0 -1 2147483647 3 -2014 613566742 -28 -1 2147483648 -939524096 -25 39 1966080000 -1 2147483647 1 -2147483648 82 256 4294967295 1 1 -100 -30000 -56 156 -5536 35536 4294967196 1 4294967295 44 2 1 1 1 0 0 9 -2 0 0 0 0 0 0 0 0 0 0 0
//! kernel: updates
//! arg 0: i64 0*80
//! arg 1: i32 0
//! expect 0: i64 -56 100 44 22 -3 -3 -4 0 127 -128 127 -128 0 255 150 144 72 0 221 34 -32768 -7232 -2 -3 65535 65530 1431655762 -3 -7 -3 -1 -1 4294967291 2147483645 0 2 0 -1 -4294967295 1 1 0 1 0 1 1 0 1 15 35 300 65537 10 7 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: switches
//! arg 0: i64 0*40
//! arg 1: i32 0
//! expect 0: i64 2 3 6 7 9 11 13 15 16 18 19 21 22 23 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: literals
//! arg 0: i64 0*40
//! expect 0: i64 80706 80909 80806 80706 60709 60809 237 -1 -2147483648 1012 102 0 4294967296 4294967295 1 1 4294967295 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0

#include <metal_stdlib>
using namespace metal;

static int kind(bool) { return 1; }
static int kind(char) { return 2; }
static int kind(uchar) { return 3; }
static int kind(short) { return 4; }
static int kind(ushort) { return 5; }
static int kind(int) { return 6; }
static int kind(uint) { return 7; }
static int kind(long) { return 8; }
static int kind(ulong) { return 9; }
static int kind(float) { return 10; }

template <typename A, typename B> static auto sum(A a, B b) -> decltype(a + b) { return a + b; }
template <typename A, typename B> static auto shifted(A a, B b) { return a << b; }
template <typename A, typename B> static auto chosen(bool c, A a, B b) { return c ? a : b; }
template <typename T> static int of_value(T value) { return kind(value); }

kernel void types(device long* out [[buffer(0)]]) {
    bool b = true;
    char c = 1;
    uchar uc = 1;
    short s = 1;
    ushort us = 1;
    int i = 1;
    uint u = 1;
    long l = 1;
    ulong ul = 1;
    float f = 1;
    int n = 0;
    out[n++] = kind(b + b) + 100 * kind(c + c) + 10000 * kind(uc * uc);
    out[n++] = kind(s - us) + 100 * kind(us * us) + 10000 * kind(uc & s);
    out[n++] = kind(i + u) + 100 * kind(u + l) + 10000 * kind(l + ul);
    out[n++] = kind(i + ul) + 100 * kind(us + u) + 10000 * kind(uc + l);
    out[n++] = kind(f + l) + 100 * kind(f * b) + 10000 * kind(ul / f);
    out[n++] = kind(-b) + 100 * kind(+c) + 10000 * kind(~uc);
    out[n++] = kind(~us) + 100 * kind(-u) + 10000 * kind(!l);
    out[n++] = kind(c << l) + 100 * kind(uc << ul) + 10000 * kind(u << l);
    out[n++] = kind(l >> c) + 100 * kind(us >> u) + 10000 * kind(b << b);
    out[n++] = kind(i < u) + 100 * kind(f == f) + 10000 * kind(b && i);
    out[n++] = kind(b ? c : c) + 100 * kind(b ? c : uc) + 10000 * kind(b ? s : us);
    out[n++] = kind(b ? b : c) + 100 * kind(b ? u : i) + 10000 * kind(b ? l : u);
    out[n++] = kind(b ? f : i) + 100 * kind(b ? us : us) + 10000 * kind(b ? 'a' : 'b');
    out[n++] = kind(c += l) + 100 * kind(uc++) + 10000 * kind(--s);
    out[n++] = kind((c, us)) + 100 * kind(u = l) + 10000 * kind((b, b));
    out[n++] = of_value(sum(c, c)) + 100 * of_value(sum(u, i)) + 10000 * of_value(sum(b, f));
    out[n++] = of_value(shifted(c, l)) + 100 * of_value(shifted(u, ul)) + 10000 * of_value(shifted(l, b));
    out[n++] = of_value(chosen(b, c, c)) + 100 * of_value(chosen(b, c, s)) + 10000 * of_value(chosen(b, b, u));
    auto product = us * us;
    decltype(c - uc) difference = -1;
    decltype(c) same = -1;
    decltype((c)) reference = c;
    out[n++] = of_value(product) + 100 * of_value(difference) + 10000 * of_value(same);
    out[n++] = of_value(reference) + sizeof(c + c) + 10 * sizeof(c) + 100 * sizeof(us << l);
    out[n++] = kind('a') + 100 * kind(true) + 10000 * kind('a' + 'b');
}

kernel void values(device long* out [[buffer(0)]], constant int& x [[buffer(1)]]) {
    char c = x - 100;
    uchar uc = x + 200;
    short s = x - 30000;
    ushort us = x + 60000;
    int i = x - 1;
    uint u = x + 1;
    long l = x - 1;
    ulong ul = x + 1;
    bool b = x + 2;
    int n = 0;
    out[n++] = c + c;
    out[n++] = uc + uc;
    out[n++] = s + s;
    out[n++] = us + us;
    out[n++] = us * 30000;
    out[n++] = (uint)us * us;
    out[n++] = c * uc;
    out[n++] = -uc;
    out[n++] = ~uc;
    out[n++] = ~b;
    out[n++] = -b;
    out[n++] = b + b + b;
    out[n++] = !c + !x;
    out[n++] = i + u;
    out[n++] = i * u;
    out[n++] = i < u;
    out[n++] = i < (long)u;
    out[n++] = l < u;
    out[n++] = l < ul;
    out[n++] = c < uc;
    out[n++] = s < us;
    out[n++] = c == (char)156;
    out[n++] = c == 156;
    out[n++] = uc == (uchar)-56;
    out[n++] = uc == -56;
    out[n++] = i == 0xffffffff;
    out[n++] = l == 0xffffffff;
    out[n++] = i == 0xffffffffffffffff;
    out[n++] = u - 2 > 0;
    out[n++] = us - 60001 > 0;
    out[n++] = i / 2 + i % 2;
    out[n++] = i / 2u;
    out[n++] = i % 7u;
    out[n++] = c / 7 + 1000 * (c % 7);
    out[n++] = c / 7u;
    out[n++] = uc / -7;
    out[n++] = i >> 31;
    out[n++] = u << 31;
    out[n++] = uc << 24;
    out[n++] = c >> 2;
    out[n++] = (uchar)c >> 2;
    out[n++] = us << 15;
    out[n++] = i >> 1l;
    out[n++] = (uint)i >> 1;
    out[n++] = ul << 63 == 0x8000000000000000;
    out[n++] = 1 << (uchar)31;
    out[n++] = (i & 0xff) + (i | 1) + (c ^ uc);
    out[n++] = (c & 0x80) + (uc & 0x80);
    out[n++] = (u ? i : u);
    out[n++] = (x ? u : i) == 4294967295;
    out[n++] = (x ? l : u);
    out[n++] = (x ? us : c);
    out[n++] = (x ? uc : s);
    out[n++] = (char)uc;
    out[n++] = (uchar)c;
    out[n++] = (short)us;
    out[n++] = (ushort)s;
    out[n++] = (uint)c;
    out[n++] = (ulong)c == 0xffffffffffffff9c;
    out[n++] = (long)(uint)i;
    out[n++] = (int)(uchar)300;
    out[n++] = (bool)256 + (bool)0.5f + (bool)-0.0f;
    out[n++] = (char)(bool)c;
    out[n++] = (float)16777217 == 16777216;
    out[n++] = 16777217 == 16777216.0f;
    out[n++] = (int)3.99f + (int)-3.99f;
    out[n++] = uc * 0.5f + c;
    out[n++] = (7 / 2) * 2.0f + 7 / 2.0f;
    out[n++] = l * 0.5f * 4;
}

kernel void updates(device long* out [[buffer(0)]], constant int& x [[buffer(1)]]) {
    int n = 0;
    char c = x + 100;
    c += 100;
    out[n++] = c;
    c -= 100l;
    out[n++] = c;
    c *= 3;
    out[n++] = c;
    c /= 2u;
    out[n++] = c;
    c = x - 7;
    c %= 4;
    out[n++] = c;
    c = x - 7;
    c /= 2;
    out[n++] = c;
    c = x - 7;
    c >>= 1;
    out[n++] = c;
    c <<= 6;
    out[n++] = c;
    c = x + 127;
    out[n++] = c++;
    out[n++] = c;
    out[n++] = --c;
    out[n++] = ++c;
    uchar uc = x;
    out[n++] = uc--;
    out[n++] = uc;
    uc -= 155;
    uc *= 1.5f;
    out[n++] = uc;
    uc = 200;
    uc += uc;
    out[n++] = uc;
    uc >>= 1;
    out[n++] = uc;
    uc <<= 9;
    out[n++] = uc;
    uc = 200;
    uc |= 0x155;
    out[n++] = uc;
    uc ^= -1;
    out[n++] = uc;
    short s = x + 32767;
    out[n++] = ++s;
    s -= 40000;
    out[n++] = s;
    s = -5;
    s /= (ushort)2;
    out[n++] = s;
    s = -5;
    s /= 2u;
    out[n++] = s;
    ushort us = x;
    us -= 1;
    out[n++] = us--;
    us *= 3;
    out[n++] = us;
    int i = x - 10;
    i /= 3u;
    out[n++] = i;
    i = x - 10;
    i /= (uchar)3;
    out[n++] = i;
    i = x - 10;
    i += 2.75f;
    out[n++] = i;
    i *= 0.5f;
    out[n++] = i;
    i = x - 10;
    i %= 3l;
    out[n++] = i;
    i >>= 1ul;
    out[n++] = i;
    uint u = x + 5;
    u -= 10;
    out[n++] = u;
    u >>= 1;
    out[n++] = u;
    u /= -1;
    out[n++] = u;
    u += -1.0f + 3;
    out[n++] = u;
    long l = x - 1;
    l += 1u;
    out[n++] = l;
    l -= 1u;
    out[n++] = l;
    l *= 0xffffffffu;
    out[n++] = l;
    bool b = x;
    b += 2;
    out[n++] = b;
    b -= 2;
    out[n++] = b;
    b *= 0;
    out[n++] = b;
    b |= 4;
    out[n++] = b;
    b &= 2;
    out[n++] = b;
    b ^= 3;
    out[n++] = b;
    b <<= 3;
    out[n++] = b;
    b >>= 1;
    out[n++] = b;
    b = 0.25f;
    out[n++] = b;
    float f = x + 3;
    f /= 2;
    out[n++] = f * 10;
    f += 1u;
    f++;
    out[n++] = f * 10;
    out[n++] = (c = 300) + (uc = -1) + (b = 5);
    out[n++] = (i = 3.9f) + (us = s = -2);
    int a = 1;
    a += (a = 5);
    out[n++] = a;
    (c = 3) += 4;
    out[n++] = c;
    ++++i;
    out[n++] = i;
}

kernel void switches(device long* out [[buffer(0)]], constant int& x [[buffer(1)]]) {
    int n = 0;
    char c = x - 56;
    switch (c) {
    case 200: out[n++] = 1; break;
    case -56: out[n++] = 2; break;
    }
    uchar uc = x + 200;
    switch (uc) {
    case 200: out[n++] = 3; break;
    case -56: out[n++] = 4; break;
    }
    switch ((char)uc) {
    case 'a': out[n++] = 5; break;
    default: out[n++] = 6;
    }
    switch (uint(x - 1)) {
    case uint(-1): out[n++] = 7; break;
    default: out[n++] = 8;
    }
    switch (x - 1l) {
    case -1: out[n++] = 9; break;
    case 4294967295: out[n++] = 10; break;
    }
    switch (ulong(x - 1)) {
    case 0xffffffffffffffff: out[n++] = 11; break;
    default: out[n++] = 12;
    }
    switch (x == 0) {
    case true: out[n++] = 13; break;
    case false: out[n++] = 14; break;
    }
    switch (c + uc) {
    case 144: out[n++] = 15; break;
    }
    switch (short s = x - 1; s) {
    case -1: out[n++] = 16; break;
    case 65535: out[n++] = 17; break;
    }
    switch (ushort(x - 1)) {
    case 65535: out[n++] = 18; break;
    }
    switch (x)
    case 1:
    case 0: out[n++] = 19;
    switch (x) out[n++] = 20;
    switch (x + 3) {
    case 3:
        out[n++] = 21;
    default:
        out[n++] = 22;
    case 4:
        out[n++] = 23;
    }
}

kernel void literals(device long* out [[buffer(0)]]) {
    int n = 0;
    out[n++] = kind(1) + 100 * kind(1u) + 10000 * kind(1l);
    out[n++] = kind(1ul) + 100 * kind(0x1UL) + 10000 * kind(1L);
    out[n++] = kind(2147483647) + 100 * kind(2147483648) + 10000 * kind(4294967296);
    out[n++] = kind(0x7fffffff) + 100 * kind(0x80000000) + 10000 * kind(0x100000000);
    out[n++] = kind(0xffffffffffffffff) + 100 * kind(037777777777) + 10000 * kind(0b1);
    out[n++] = kind(4294967296u) + 100 * kind(0x80000000l) + 10000 * kind(1'000'000);
    out[n++] = 'a' + '\n' + '\0' + '\x41' + '\101';
    out[n++] = '\xff';
    out[n++] = -2147483648;
    out[n++] = 0x1p-3f * 8 + 1e3f + .5f * 2 + 0xAp0f;
    out[n++] = sizeof("abc") + "abc"[1];
    out[n++] = 0xffffffff + 1;
    out[n++] = 4294967295 + 1;
    out[n++] = -1u;
    out[n++] = -1 > 1u;
    out[n++] = sizeof(int) - 5 > 0;
    out[n++] = 1 ? -1 : 0u;
    out[n++] = 'a' < 98 && true == 1 && 2 != true;
}
