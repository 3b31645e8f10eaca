//! arg r=zeros:i32:16
//! arg f=iota:f32:16
//! expect r: 32 16 6 32 5 4 16 8 16 32 7 4 5 48 40 1
// Aliases with an alignment: members and structures have it, numbers and pointers keep their size; a vector
// with the alignment of its scalar is loaded from any multiple of it.
typedef int wide_int __attribute__((aligned(16)));
typedef __attribute__((aligned(8))) uchar byte8;
typedef float4 loose __attribute__((aligned(4)));
typedef struct {
    char c;
    wide_int i;
} Holder;
typedef struct {
    char c;
    const byte8 b;
    char d;
} Bytes;
typedef struct {
    char c;
    float x;
} __attribute__((aligned(32))) Structure;
typedef struct __attribute__((packed)) {
    char c;
    int x;
} Packed;
typedef struct {
    float x;
    loose v;
} Loose;
typedef Packed Aligned __attribute__((aligned(16)));
struct Outer {
    char c;
    Aligned one;
    struct {
        char d;
        wide_int e;
    } inner;
};
struct Pointers {
    char c;
    wide_int* p;
};
__kernel void k(__global int* r, __global float* f) {
    r[0] = sizeof(Holder);
    Holder holder = {1, 6};
    r[1] = (int)((__private char*)&holder.i - (__private char*)&holder);
    r[2] = holder.i;
    r[3] = sizeof(Structure);
    r[4] = sizeof(Packed);
    r[5] = sizeof(wide_int);
    r[6] = sizeof(loose);
    Bytes bytes = {1, 2, 3};
    r[7] = (int)((__private char*)&bytes.b - (__private char*)&bytes);
    r[8] = sizeof(Bytes);
    r[9] = sizeof(((struct Outer*)0)->inner);
    __global loose* any = (__global loose*)(f + 3);
    r[10] = any[1].x;
    __global Loose* all = (__global Loose*)f;
    r[11] = all[0].v.w;
    r[12] = all[1].x;
    struct Outer outer;
    r[13] = (int)((__private char*)&outer.inner.e - (__private char*)&outer);
    r[14] = 40;
    r[15] = sizeof(struct Pointers) == 16;
}
