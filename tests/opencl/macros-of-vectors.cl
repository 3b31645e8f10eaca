//! arg r=zeros:i32:18
//! expect r: 751 651 2 24 43 -2559 3 -2666 90 -101 4962 33024 10 -1294967293 -1001 5 190 -138
// Macros with types for parameters, with statement expressions, and with uses of several widths.
#define CLAMP(t1, t2, v, low, high) \
    ({ t1 x = (v); t2 y = (low); t2 z = (high); ((y) > (z)) ? (x) : clamp((x), (y), (z)); })
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define BOTH(a, b) ((a) && (b))
#define NONE(a) (!(a))
#define PICK(T, c, a, b) ({ T picked = (c) ? (a) : (b); picked; })
#define SUM4(v) ((v).s0 + 10 * (v).s1 + 100 * (v).s2 + 1000 * (v).s3)
__kernel void k(__global int* r) {
    int4 a = (int4)(1, 5, 9, -3), b = (int4)(4);
    int8 c = (int8)(a, b), d = (int8)(3);
    int16 e = (int16)(c, d);
    r[0] = SUM4(CLAMP(int4, int4, a, (int4)(0, 6, 0, 0), (int4)(3, 5, 7, 2)));
    r[1] = SUM4(CLAMP(int4, int, a, 0, 6));
    r[2] = CLAMP(int, int, r[1], -2, 2);
    r[3] = CLAMP(int8, int8, c, d, d + 2).s4 + 10 * CLAMP(int8, int, c, 0, 2).s1;
    r[4] = CLAMP(int16, int16, e, e, e - 1).sf + 10 * CLAMP(int16, int, e, 1, 4).s2;
    r[5] = SUM4(LEAST(a, b));
    r[6] = LEAST(r[0], 3);
    r[7] = SUM4(LEAST(c, d).lo) + LEAST(c, d).s7;
    r[8] = BOTH(c, d - 3).s1 + BOTH(a, b).s2 * 10 + BOTH(r[0], 2) * 100;
    r[9] = NONE(c - 4).s5 + NONE(e).s1 * 10 + NONE(a - 1).s0 * 100 + NONE(r[0]) * 1000;
    r[10] = SUM4(PICK(int4, a > b, a, b)) + PICK(int8, c > d, c, d).s6 + PICK(int, a.x > b.x, a.y, b.y);
    uchar4 u = abs((char4)(-128, -1, 1, 127));
    r[11] = u.s0 + abs((char)-128) + abs((short)-32768);
    uint8 distance = abs_diff(c, d * 1000000000);
    r[12] = (distance.s3 > 2000000000) + 10 * (abs(c - 10).s3 > 12u);
    int8 sat = mad_sat(c, d * 1000000000, d);
    r[13] = sat.s0 + (sat.s3 == (int)0x80000000);
    r[14] = ({ int4 t = a < b; SUM4(t); });
    int8 many = a.zywxwxxw + c.s00000000;
    int16 more = e.lo.s0123321001233210 + a.xxxxyyyyzzzzwwww;
    r[16] = many.s0 + 10 * many.s4 + 100 * many.s6;
    r[17] = more.s0 + 10 * more.s7 + 100 * more.sf;
    r[15] = (int)({ int8 t = c; t.s01 = t.s10; t; }).s0;
}
