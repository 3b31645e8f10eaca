//! arg r=zeros:i32:144
//! expect r: -1 -1 0 0 -1 0 0 0 4 3 3 4 4 3 2 1 1 2 2 1 4 3 2 1 0 0 0 0 1 1 1 1 0 0 0 0 -1 -1 -1 -1 4 3 3 4 0 0 0 0 -1 -1 3 3 -1 0 -1 0 -1 0 0 0 0 0 1 1 1 1 0 0 -1 -1 -1 -1 0 0 0 0 1 2 3 4 -1 -1 0 0 -1 0 0 0 7 1 2 3 0 0 0 0 0 0 0 0 -1 0 0 0 0 -1 0 0 0 3 -1 1 0 0 0 0 0 0 0 0 -1 -1 -1 -1 -1 -1 -1 -1 -1 0 0 -1 0 -1 0 0 0 0 -1 0 0 0 -1 0
// Comparisons of vectors through macros, functions, arrays, conditions and types of every width.
typedef float4 A4;
typedef struct tag { int a; } Tag;
#define KERNEL __kernel
#define SWAP(T, a, b) { T tmp = a; a = b; b = tmp; }
#define SELECT(c, a, b) ((c) ? (a) : (b))
#define CMP(v) v.s0 < v.s1
#define DECLARE(T, name, value) T name = value
#define REPEAT(i, body) for (int i = 0; i < 2; i++) { body; }
inline int4 both(int4 a, int4 b) { return a && b; }
static float4 pick(float4 a, float4 b, int4 c);
static float4 pick(float4 a, float4 b, int4 c) { return c ? a : b; }
int first(const int4* p) { return p->x == p[0].s0; }
KERNEL void k(__global int4* r) {
    int n = 0;
    A4 a = (A4)(1, 2, 3, 4);
    const float4 b = a.s3210;
    r[n++] = a < b;
    r[n++] = both(a < b, (int4)(1, 0, 1, 0));
    r[n++] = convert_int4(pick(a, b, a > b));
    int4 x = (int4)(1, 2, 3, 4), y = (int4)(4, 3, 2, 1);
    SWAP(int4, x, y);
    r[n++] = x;
    r[n++] = SELECT(x < y, x, y);
    r[n++] = SELECT(n > 2, x, y);
    r[n++] = CMP(x);
    r[n++] = first(&x);
    DECLARE(int4, z, x == y);
    r[n++] = z;
    REPEAT(q, z += z == (int4)(q))
    r[n++] = z;
    r[n++] = x > y ? x : y > 2 ? y : (int4)(9);
    r[n++] = !!x + !0;
    r[n++] = -(x < y) * 3 + (x << 1 > 4);
    r[n++] = (x & 1) == 0;
    r[n++] = (x == y) | (x == 4) && 1;
    for (int i = 0; any(x > i) && i < 3; ++i) n += 0;
    uint4 u = (uint4)(x < y) >> 31;
    r[n++] = as_int4(u);
    r[n++] = (int4)((int2)(1 < 2), x.xy == y.xy);
    int4 m[2] = {x < y, x > y};
    r[n++] = m[0] + m[1];
    r[n++] = m[x.s0 < y.s0] == m[1];
    bool flag = x.s0 < y.s0;
    r[n++] = flag ? x : y;
    half4 h = convert_half4(a);
    short4 hc = h < (half4)(2.5h);
    r[n++] = convert_int4(hc);
    uchar4 uc = (uchar4)(200, 1, 2, 3);
    char4 cc = uc > (uchar)100;
    r[n++] = convert_int4(cc);
    r[n++] = convert_int4(uc < 100 ? uc : (uchar4)(7));
    long4 ll = convert_long4(x) == convert_long4(y);
    r[n++] = convert_int4(ll);
    int k3 = (x.s0 < y.s0) + (x.lo.s1 > y.hi.s0) * 10;
    r[n++] = k3;
    int3 v3 = (int3)(1, 2, 3) < (int3)(2);
    r[n++] = (int4)(v3, 0);
    r[n++].s13 = (int2)(3) == (int2)(3, 4);
    x.even = x.odd < 3;
    r[n++] = x;
    __local int4 t[1];
    t[0] = x;
    r[n++] = t[0] != x;
    do { n++; } while (all(x == y) && n < 100);
    r[n++] = vload4(0, (__global const int*)r) == r[0];
    r[n++] = max(x, y) > min(x, y);
    r[n++] = clamp(x, 0, 2) == x;
    r[n++] = x > 1;
    r[n++] = (a + 1 > b * 2) != (a > b);
    r[n++] = isgreater(a, b) & islessequal(a, (float4)(3));
}
