//! arg r=zeros:i32:12
//! expect r: 7 5 10 32 8 8 4 16909069 260 7 84281097 5
// `packed` and `aligned`: of structures, before and after the members, of members and of variables.
struct __attribute__((packed)) Before { char a; int b; short c; };
struct After { char a; int b; } __attribute__((packed));
typedef struct { char a; long b; } __attribute__((__packed__, aligned(2))) Both;
typedef struct { char a; int b __attribute__((aligned(16))); } Member;
struct PackedMember { char a; int b __attribute__((packed)); short c; };
typedef struct { short a; } __attribute__((aligned(8))) Wide;
union __attribute__((packed)) U { short s; int i; };
__kernel void k(__global int* r) {
    r[0] = sizeof(struct Before);
    r[1] = sizeof(struct After);
    r[2] = sizeof(Both);
    r[3] = sizeof(Member);
    r[4] = sizeof(struct PackedMember);
    r[5] = sizeof(Wide);
    r[6] = sizeof(union U);
    struct Before list[3] = {{1, 2, 3}, {4, 0x01020304, 6}, {7, 8, 9}};
    r[7] = list[1].b + list[2].c;
    uchar* bytes = (uchar*)list;
    r[8] = bytes[8] + 256 * bytes[11];
    __attribute__((aligned(16))) int x = 3;
    int y __attribute__((unused, aligned(32))) = 4;
    r[9] = x + y;
    Both both = {1, 0x0102030405060708};
    both.b += both.a;
    r[10] = both.b;
    struct PackedMember p = {1, 2, 3};
    r[11] = p.b + p.c;
}
