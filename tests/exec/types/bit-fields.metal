// Bit-fields: layout as in the Itanium C++ ABI on a little-endian machine (values from g++ on x86-64), reads and
// writes by masks, signed ones extended by their sign, promotion to int.
//! covers: C++ class.bit
//! kernel: layouts
//! arg 0: u32 0*19
//! expect 0: u32 68 68 132 132 196 17 68 136 66 34 17 196 132 81 132 161 68 17 196
//! kernel: bytes
//! arg 0: u8 0*12 0xff*12 0*40
//! expect 0: u8 213 10 127 111 2 85 0 0 96 121 254 0 1 240 128 128 253 255 255 255 86 52 18 255 222 188 10 0 69 35 1 0 33 67 5 0 222 188 90 52 18 154 120 86 52 18 154 120 86 52 18 186 220 254 85 238 0 0 255 255 15 17 255 85
//! kernel: values
//! arg 0: u8 213 10 127 111 2 85 0 0 96 121 254 0
//! arg 1: i32 0*12
//! expect 1: i32 5 -6 10 -1 7 -34 1 2 85 -100000 0 0
//! kernel: arithmetic
//! arg 0: i32 0*16
//! expect 0: i32 1 -5 2 8 8 9 2311520 1 7 0 -1 3 1 12 -1 7
//! kernel: constants
//! arg 0: i32 0*8
//! expect 0: i32 5 -3 200 5 1 2 3 -1
//! kernel: shared
//! threads: 64
//! group: 32
//! arg 0: u32 0*64
//! expect 0: u32 2049..133249..2050

#include <metal_stdlib>
using namespace metal;

struct A { uint a : 3; uint b : 5; uint c : 24; };
struct B { uchar a : 4; uint b : 28; };
struct C { uint a : 30; uint b : 3; };
struct D { uint a : 1; uint : 0; uint b : 1; };
struct F { uint a : 20; uint b : 20; uint c : 20; };
struct G { uchar a : 3; uchar b : 5; };
struct H { char c; int x : 8; };
struct I { ulong a : 40; ulong b : 24; };
struct J { short a : 9; short b : 7; char c; char d; };
struct K { ushort a : 9; uchar b : 7; };
struct L { bool a : 1; bool b : 1; };
struct M { int a; uint b : 4; float c; };
struct N { uint : 5; uint x : 3; uint : 0; char c; };
struct O { char c; uint : 17; char d; };
struct P { uint a : 7; uchar b; uint c : 20; char d; };
struct __attribute__((packed)) Q { uint a : 20; uint b : 20; ulong c : 40; };
union U { uint raw; uint low : 5; };
union V { uchar narrow : 3; };
enum Color : uint { red, green, blue };
struct W {
    uint a : 3; int b : 5; ushort c : 4; uint : 4; int d : 4; uint e : 3; int f : 7;
    bool g : 1; Color h : 2; char tail; int k : 24;
};

template <typename T> uint layout() { return sizeof(T) * 16 + alignof(T); }

kernel void layouts(device uint* out)
{
    out[0] = layout<A>(); out[1] = layout<B>(); out[2] = layout<C>(); out[3] = layout<D>();
    out[4] = layout<F>(); out[5] = layout<G>(); out[6] = layout<H>(); out[7] = layout<I>();
    out[8] = layout<J>(); out[9] = layout<K>(); out[10] = layout<L>(); out[11] = layout<M>();
    out[12] = layout<N>(); out[13] = layout<O>(); out[14] = layout<P>(); out[15] = layout<Q>();
    out[16] = layout<U>(); out[17] = layout<V>(); out[18] = layout<W>();
}

template <typename T> void copy(device uchar* out, thread const T& value, uint count)
{
    thread const uchar* from = (thread const uchar*)&value;
    for (uint i = 0; i < count; ++i) { out[i] = from[i]; }
}

// Each object begins as zero, as do those of the reference.
kernel void bytes(device uchar* out [[buffer(0)]])
{
    W w = {};
    w.a = 5; w.b = -6; w.c = 10; w.d = -1; w.e = 7; w.f = -34; w.g = 1; w.h = blue; w.tail = 0x55; w.k = -100000;
    copy(out, w, 12);
    device W& ones = *(device W*)(out + 12);
    ones.a = 9; ones.b = 0; ones.c = 0; ones.d = 0; ones.e = 0; ones.f = 1; ones.g = 0; ones.h = green;
    ones.k = 0x123456;
    F f = {};
    f.a = 0xabcde; f.b = 0x12345; f.c = 0x54321;
    copy(out + 24, f, 12);
    Q q = {};
    q.a = 0xabcde; q.b = 0x12345; q.c = 0x123456789aul;
    copy(out + 36, q, 10);
    I i = {};
    i.a = 0x123456789aul; i.b = 0xfedcba;
    copy(out + 46, i, 8);
    P p = {};
    p.a = 0x55; p.b = 0xee; p.c = 0xfffff; p.d = 0x11;
    copy(out + 54, p, 8);
    K k = {};
    k.a = 0x1ff; k.b = 0x2a;
    copy(out + 62, k, 2);
}

kernel void values(device const W* w [[buffer(0)]], device int* out [[buffer(1)]])
{
    W v = *w;
    out[0] = v.a; out[1] = v.b; out[2] = v.c; out[3] = v.d; out[4] = v.e; out[5] = v.f; out[6] = v.g;
    out[7] = w->h; out[8] = w->tail; out[9] = w->k;
    out[10] = v.a == 5 && v.h == blue ? 0 : 1;
}

struct Initialised {
    uint a : 4 = 12;
    int b : 3;
    Initialised() : b(-1) {}
};

kernel void arithmetic(device int* out)
{
    A a = {5, 17, 0x123456};
    out[0] = (a.a - 6) < 0;
    out[1] = a.a / -1;
    a.a += 5;
    out[2] = a.a;
    out[3] = (a.b = 40);
    out[4] = a.b++;
    out[5] = a.b;
    a.c <<= 4;
    out[6] = a.c;
    out[7] = --a.a;
    a.a = 0;
    out[8] = --a.a;
    I i = {};
    i.a = 1;
    out[9] = (i.a - 2) < 0;
    struct { int x : 3; } s = {};
    s.x = 7;
    out[10] = s.x;
    s.x -= 4;
    out[11] = s.x;
    U u = {0xffffffffu};
    u.low = 0;
    out[12] = u.raw == 0xffffffe0u;
    Initialised fresh;
    out[13] = fresh.a;
    out[14] = fresh.b;
    A never;
    never.b = 7;
    out[15] = never.b;
}

constexpr constant A table[2] = {{5, 3, 200}, {.a = 9, .c = 1}};
struct Signed { int x : 3; int y : 29; constexpr Signed(int p, int q) : x(p), y(q) {} };
constexpr constant Signed made(5, 5);
constexpr int folded() { A a = {}; a.a = 10; a.b = 1; a.a += 9; return a.a; }
static_assert(folded() == 3, "10 wraps to 2, and 11 to 3");

kernel void constants(device int* out)
{
    out[0] = table[0].a;
    out[1] = made.x;
    out[2] = table[0].c;
    out[3] = made.y;
    out[4] = table[1].a;
    out[5] = table[1].b + 2;
    out[6] = folded();
    constexpr Signed edge(7, 0);
    out[7] = edge.x;
}

// Neighbouring threads write neighbouring members: a write touches no byte of another object.
struct Mixed { uchar first; uint middle : 16; uchar last; };

kernel void shared(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]],
                   uint t [[thread_position_in_threadgroup]])
{
    threadgroup Mixed cells[33];
    cells[t].middle = i;
    cells[t + 1].first = uchar(t);
    cells[t].last = uchar(1);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = (i + 1) * 2048 + cells[t].middle + cells[t].last + i + (cells[t + 1].first - t);
}
