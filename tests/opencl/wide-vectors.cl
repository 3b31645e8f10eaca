//! arg r=zeros:i32:25
//! arg f=zeros:f32:8
//! arg w=zeros:u32:32
//! expect r: 851 1126 110912 -111 1011 1 -102 2431 1 1581 5412 1 31 16 101 52 115 -1790 11 100 4 6 3 28 6
// Vectors of 8 and 16: literals of parts of several widths, operators, comparisons, choices, components
// through casts and pointers; and built-in functions that branches which are not taken redefine.
#ifdef CUSTOM
#define mad(a, b, c) ((a) * (b) + (c) + 1)
#define clamp(a, b, c) (a)
#endif
#if 0
#define rotate(a, b) (a)
#endif
typedef uint8 U8;
typedef struct { float8 v; int lo; } P;
__kernel void k(__global int* r, __global float8* f, __global uint16* w) {
    float4 a = (float4)(1, 2, 3, 4);
    float2 b = (float2)(5, 6);
    float8 x = (float8)(a, b, 7.0f, 8.0f);
    float8 y = (float8)(b, a.yzw, (float3)(9, 10, 11));
    uint16 u = (uint16)((U8)(1, 2, 3, 4, 5, 6, 7, 8), (uint4)(9), 10u, (uint2)(11), 12);
    int n = 0;
    r[n++] = x.s0 + 10 * x.s4 + 100 * x.s7;
    r[n++] = y.s1 + 10 * y.s2 + 100 * y.s7;
    r[n++] = u.sf + 100 * u.s8 + 10000 * u.sd;
    int8 lt = x < y;
    r[n++] = lt.s0 + 10 * lt.s1 + 100 * lt.s5;
    int8 eq = (x == (float8)(5)) | !(x > 2.0f);
    r[n++] = -(eq.s0 + 10 * eq.s1 + 100 * eq.s2 + 1000 * eq.s4);
    U8 v = ~u.lo;
    r[n++] = v.s0 == 0xfffffffe;
    v++;
    ++v;
    U8 old = v--;
    r[n++] = (int)v.s1 + 100 * (int)old.s1;
    U8 cz = clz((U8)(1, 2, 4, 8, 16, 32, 64, 128));
    r[n++] = cz.s0 + 100 * cz.s7;
    U8 ro = rotate(u.lo, (U8)(31));
    r[n++] = ro.s0 == 0x80000000u && ro.s1 == 1;
    float2 p = x.s07;
    float4 q = x.even + x.odd;
    r[n++] = p.x + 10 * p.y + 100 * q.w;
    x.s01 = x.s10;
    x.s23 += 1;
    r[n++] = x.s0 + 10 * x.s1 + 100 * x.s2 + 1000 * x.s3;
    x.hi = x.lo;
    r[n++] = x.s5;
    f[0] = mad(x, y, x);
    r[n++] = f[0].s0 + ((__global float8*)f)->s1 + (*f).s2;
    w[1] = u;
    r[n++] = ((__global uint16*)w)[1].s2 + w[1].hi.s1 + w[1].lo.lo.s3;
    r[n++] = any(x < y) + 10 * all(x < y) + 100 * all(x == x);
    float8 ch = x < y ? x : y;
    r[n++] = ch.s0 + 10 * ch.s7;
    float8 se = select(x, y, x < y);
    r[n++] = se.s0 + 10 * se.s7;
    short8 up = upsample((char8)(1, 2, 3, 4, 5, 6, 7, -8), (uchar8)(1));
    r[n++] = up.s0 + up.s7;
    P z; z.v = x; z.lo = 4;
    r[n++] = z.lo + z.v.lo.x + z.v.s3;
    int8 lg = (x > 2.0f && y > 2.0f) || x < 0.0f;
    r[n++] = -(lg.s0 + 10 * lg.s1 + 100 * lg.s3);
    r[n++] = convert_int8(x).s2 + as_uint4(a).x * 0;
    r[n++] = popcount(u).s6 + max(u, (uint16)(3)).s0;
    r[n++] = clamp(5, 1, 3);
    float16 t = (float16)(x, y);
    r[n++] = t.s8 + t.hi.hi.w + t.s1f.y + (float)((float16)(a, a, a, a)).sc;
    r[n++] = ((float8)(a, a)).s6 + ((float8)(1.5f)).s3 * 2;
}
