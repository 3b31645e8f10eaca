//! arg r=zeros:i32:12
//! expect r: 16 16 32 16 32 5 5 5 3 -2 7 6
// Attributes of structures and members, which MSL shares; and macros that are other names of functions.
typedef struct __attribute__((aligned(16))) { float a; } A;
typedef struct { float a; } __attribute__((aligned(16))) B;
struct __attribute__((aligned(32))) C { float a; };
struct D { float a; } __attribute__((aligned(16)));
struct E { float a; float b __attribute__((aligned(8))); int c[2] __attribute__((aligned(16))); };
struct __attribute__((packed)) F { char a; int b; };
typedef struct { char a; int b; } __attribute__((__packed__)) G;
struct H { char a; int b __attribute__((packed)); };
#define ROOT rootn
#define MULTIPLY_ADD mad
#define PICK select
__kernel void k(__global int* r) {
    float local_[4] __attribute__((aligned(16))) = {1, 2, 3, 4};
    r[0] = sizeof(A); r[1] = sizeof(B); r[2] = sizeof(struct C); r[3] = sizeof(struct D); r[4] = sizeof(struct E);
    r[5] = sizeof(struct F); r[6] = sizeof(G); r[7] = sizeof(struct H);
    r[8] = local_[2];
    r[9] = rint(ROOT(-8.0f, 3));
    r[10] = MULTIPLY_ADD(2.0f, 3.0f, 1.0f);
    r[11] = PICK(5, 6, r[8] == 3);
}
