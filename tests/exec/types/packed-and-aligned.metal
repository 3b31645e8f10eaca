// Structures and unions whose layout is packed or aligned: sizes, offsets, bytes, copies and arrays of them.
//! covers: C++ dcl.align, C++ class.union, C++ class.derived, MSL 2.5
//! oracle: clang
//! kernel: sizes
//! arg 0: i32 0*48
//! expect 0: i32 1501 2408 3216 3232 2004 1204 6432 1602 808 804 1204 101 602 7 16 2016 1601 801 32 402 64045 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: bytes
//! arg 0: i32 0*64
//! expect 0: i32 9 7 0 0 0 7 0 5 0 0 0 0 0 0 0 9 7 0 1332 33752141 262 5150 501 7 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0

#include <metal_stdlib>
using namespace metal;

struct __attribute__((packed)) Packed {
    char a;
    int b;
    short c;
    long d;
};
struct Plain {
    char a;
    int b;
    short c;
    long d;
};
struct Aligned {
    char a;
    alignas(16) int b;
    char c;
};
struct alignas(32) Whole {
    int a;
    char b;
};
struct Member {
    char a;
    Packed p;
    int b;
};
struct OnePacked {
    char a;
    int b __attribute__((packed));
    int c;
};
struct Nested {
    Whole whole;
    char last;
};
union Mixed {
    char a[5];
    short b;
    Packed p;
};
union alignas(8) Wide {
    char a;
    ushort b[3];
};
struct Base {
    int x;
    char y;
};
struct Derived : Base {
    char z;
};
struct Empty {};
struct Holds : Empty {
    Empty first;
    int x;
};
enum Small : uchar { SMALL = 7 };
struct Enums {
    Small a;
    bool b;
    Small c;
    short d;
};

template <typename T> static int layout(T) { return sizeof(T) * 100 + alignof(T); }
#define OFFSET(type, member) int(((thread uchar*)&object.member) - (thread uchar*)&object)

kernel void sizes(device int* out [[buffer(0)]]) {
    int n = 0;
    out[n++] = layout(Packed());
    out[n++] = layout(Plain());
    out[n++] = layout(Aligned());
    out[n++] = layout(Whole());
    out[n++] = layout(Member());
    out[n++] = layout(OnePacked());
    out[n++] = layout(Nested());
    out[n++] = layout(Mixed());
    out[n++] = layout(Wide());
    out[n++] = layout(Base());
    out[n++] = layout(Derived());
    out[n++] = layout(Empty());
    out[n++] = layout(Enums());
    { Packed object = {}; out[n++] = OFFSET(Packed, d); }
    { Plain object = {}; out[n++] = OFFSET(Plain, d); }
    { Aligned object = {}; out[n++] = OFFSET(Aligned, b) + 100 * OFFSET(Aligned, c); }
    { Member object = {}; out[n++] = OFFSET(Member, p) + 100 * OFFSET(Member, b); }
    { OnePacked object = {}; out[n++] = OFFSET(OnePacked, b) + 100 * OFFSET(OnePacked, c); }
    { Nested object = {}; out[n++] = OFFSET(Nested, last); }
    { Enums object = {}; out[n++] = OFFSET(Enums, c) + 100 * OFFSET(Enums, d); }
    out[n++] = sizeof(Packed[3]) + sizeof(Whole[2]) * 1000;
}

kernel void bytes(device int* out [[buffer(0)]]) {
    int n = 0;
    Packed p = {1, 0x02030405, -1, 0x0102030405060708};
    Packed all[2] = {p, {9, 8, 7, 6}};
    all[1].b += all[0].c;
    all[0] = all[1];
    all[0].d--;
    thread uchar* at = (thread uchar*)all;
    for (uint i = 0; i < 18; i++) out[n++] = at[i];
    Mixed m = {};
    m.p = p;
    out[n++] = m.a[0] + m.a[1] * 10 + m.b;
    m.a[1] = 77;
    out[n++] = m.p.b;
    Wide w = {};
    w.a = 3;
    w.b[0] |= 0x100;
    out[n++] = w.b[0] + w.a;
    OnePacked o = {1, 2, 3};
    thread int& c = o.c;
    c = 50;
    o.b = o.c + 1;
    out[n++] = o.b * 100 + o.c;
    Member member = {1, p, 2};
    Member copied = member;
    copied.p.c = 5;
    out[n++] = copied.p.c * 100 + member.p.c + copied.b;
    Derived derived = {};
    derived.z = 4;
    derived.x = 3;
    Base base = derived;
    out[n++] = base.x + derived.z;
}
