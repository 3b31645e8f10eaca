//! arg r=zeros:i32:148
//! arg f=zeros:f32:4
//! expect r: -1 -1 0 0 0 0 -1 -1 0 0 0 -1 0 0 -1 -1 0 0 -1 0 0 0 0 0 0 5 0 4 0 -2 0 -1 0 -2 0 -1 5 5 0 0 0 1 0 0 1 0 1 1 0 5 0 4 1 5 0 4 -2 -2 -1 -1 8 7 7 8 0 0 1 1 1 0 1 0 -1 -1 0 0 -1 0 -1 0 -1 0 -1 0 7 7 7 7 0 0 0 0 1 1 1 1 3 4 5 9 1 0 1 1 2 3 9 9 131075 4 196613 65542 -1 -1 -1 -1 0 -3 0 4 0 -3 0 -1 1 1 0 0 0 0 1 1 0 0 -1 -1 -1 -1 0 0 -1 -1 0 0 2 2 2 2
// Comparisons, logic and choices of vectors, literals, components and null pointers, in each context. The
// values follow from sections 6.1.6, 6.1.7 and 6.3 of the OpenCL C specification.
typedef int4 I4;
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LT(a, b) ((a) < (b))
#define BOTH(a, b) ((a) && (b))
#define CAT(a, b) a ## b
#define VEC(t, n) CAT(t, n)
#define NEXT_NULL ((void*)0)
typedef VEC(float, 4) F4;
typedef struct { float4 v; uint seed, sad; struct { int s0; } inner; } S;
int4 flags(float4 a, float4 b) { return a < b; }
__kernel void k(__global int4* r, __global float4* f) {
    int n = 0;
    float4 x = (float4)(1, 2, 3, 4), y = x.wzyx;
    int4 i = (I4)(1, -2, 0, 4), j = (int4)(0, 5, 0, -1);
    uint4 u = (uint4)(1u, 0x80000000u, 0u, 7u);
    r[n++] = x < y;
    r[n++] = x >= 2.5f;
    r[n++] = 2 < i;
    r[n++] = i == j || i > j && j;
    r[n++] = !i;
    r[n++] = !x;
    r[n++] = x > 2 ? i : j;
    r[n++] = i ? i : j;
    r[n++] = u ? i : j;
    r[n++] = flags(x, y) & 5;
    r[n++] = -(x != y) + ~(i < j);
    r[n++] = (int4)(any(x < y), all(x < y), any(i), all(x < 5));
    r[n++] = select(i, j, x < y);
    r[n++] = select(i, j, u);
    r[n++] = isless(x, y) + isnan(x) + isequal(x, x);
    r[n++] = convert_int4(MAX(x, y)) + MAX(3, 4);
    r[n++] = LT(x, y) + LT(1, 2);
    r[n++] = BOTH(i, j) + BOTH(1, 2);
    char4 c = (char4)(1, 2, 3, 4), d = c < (char4)(3);
    r[n++] = convert_int4(d);
    short2 s = (short2)(5, 6) == (short2)(5, 7);
    r[n++] = (int4)(s.x, s.y, (i < j).y, (x < y).s3);
    long2 l = (long2)(1, 2) < (long2)(2, 1);
    r[n++] = (int4)((int2)(l.x, l.y), (x.lo < y.hi).s01);
    if (all(i == i) && n > 3) r[n++] = (int4)(7);
    for (int q = 0; q < 2 && any(i < q); q++) r[n++] = (I4)(q);
    while ((i > j).x && n < 0) n++;
    S t; t.seed = 3; t.sad = 4; t.inner.s0 = 5; t.v = x; t.v.s3 = 9;
    r[n++] = (int4)(t.seed, t.sad, t.inner.s0, (int)t.v.s3);
    __global float4* p = NEXT_NULL;
    r[n++] = (int4)(p == 0, f == (__global float4*)0, p == NULL, f != NEXT_NULL);
    F4 g = (F4)(x.lo, (float2)(8.0f));
    r[n++] = convert_int4(g) + (g.s2 > 5 ? 1 : 2);
    r[n++] = upsample((short4)(1, -1, 2, 0), (ushort4)(1, 2, 3, 4)) + upsample((short)1, (ushort)2);
    r[n++] = (x < y) == (y > x);
    i += x < y;
    r[n++] = i;
    i = i & (x < y) | j & !(x < y);
    r[n++] = i;
    int sc = 3 < 4;
    r[n++] = (int4)(sc, 3 < 4, !sc, sc && 0);
    r[n++] = (x > y) ? (int4)(1) : 0;
    r[n++] = as_int4(x) > as_int4(y);
    r[n++] = vload4(0, (__global int*)r) < 0;
    r[n++] = ((__global int4*)r)->x < ((__global int4*)r)[1];
    r[n++] = (*(__global int4*)r).s1 + (int4)(((float4)(1, 2, 3, 4)).s2);
}
