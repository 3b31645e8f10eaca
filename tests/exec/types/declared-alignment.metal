// `alignas`, `aligned` and `packed` on members and classes.
//! covers: MSL 2.5, C++ dcl.align
//! oracle: clang
//! kernel: layout
//! arg 0: u32 0*20
//! expect 0: u32 64 32 16 32 5 1 5 12 32 16 16 8 4 16 20 7

#include <metal_stdlib>
using namespace metal;

struct Aligned {
    int a;
    alignas(16) int b;
    int c __attribute__((aligned(32)));
};

struct __attribute__((packed)) Packed {
    char a;
    int b;
};

struct PackedMember {
    char a;
    int b __attribute__((packed));
};

struct Both {
    char a;
    int b __attribute__((packed, aligned(4)));
    char c;
};

struct alignas(16) Whole {
    float x;
    alignas(8) char y;
};

struct Trailing {
    char a[20];
} __attribute__((__aligned__(16)));

template <int N> struct Sized {
    char a;
    alignas(N) char b;
};

kernel void layout(device uint* out) {
    Aligned aligned = {1, 2, 7};
    out[0] = sizeof(Aligned);
    out[1] = alignof(Aligned);
    out[2] = uint((thread char*)&aligned.b - (thread char*)&aligned);
    out[3] = uint((thread char*)&aligned.c - (thread char*)&aligned);
    out[4] = sizeof(Packed);
    out[5] = alignof(Packed);
    out[6] = sizeof(PackedMember);
    out[7] = sizeof(Both);
    out[8] = sizeof(Trailing);
    out[9] = alignof(Trailing);
    out[10] = sizeof(Whole);
    out[11] = uint(sizeof(Sized<4>));
    Whole whole = {4, 4};
    out[12] = uint(whole.x);
    out[13] = alignof(Whole);
    Both both = {1, 20, 3};
    out[14] = uint(both.b);
    out[15] = uint(aligned.c);
}
