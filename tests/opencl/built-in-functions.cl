//! arg r=zeros:i32:79
//! arg f=f32:0,1
//! expect r: 500000 500000 2139095040 -200000 200000 1 -100000 -12500 -300000 100000 112838 -67780 99532 154173 153746 184270 2400000 236327 -57642 35913420 126551 10000 2139095040 -50000 100000 900000 75000 33333 -300000 200000 1 -100000 10 -5624 -1 -52050 114471 300167 158740 -50000 75000 2 -1082130432 -1110651699 600000 200000 200000 -100000 100000 100000 700000 -500000 0 4122 8162 -1 1 199532 -157080 100000 50000 6000000 -800000 50000 -100000 93800 34664 78125 7 -1 -1 6 2 -2147483648 134217728 3 1 2147483647 4
// Built-in functions that Metal lacks, of numbers, vectors and vectors of 8, at values that approximations by
// formulas miss: near zeros, in tails, beyond the range of squares.
#define F(x) r[n++] = as_int(x);
#define ROUND(x) r[n++] = (int)rint((x) * 100000.0f);
__kernel void k(__global int* r, __global float* f) {
    int n = 0;
    float zero = f[0], one = f[1];
    ROUND(hypot(3e30f, 4e30f) * 1e-30f) ROUND(hypot(3e-30f, 4e-30f) * 1e30f) F(hypot(-INFINITY, zero / zero))
    ROUND(rootn(-8.0f, 3)) ROUND(rootn(16.0f, 4)) r[n++] = isnan(rootn(-4.0f, 2)); ROUND(pown(-1.0f, 16777217)) ROUND(pown(-2.0f, -3))
    ROUND(cbrt(-27.0f)) ROUND(cbrt(1e30f) * 1e-10f) ROUND(erf(1e-4f) * 1e4f) ROUND(erf(-0.7f)) ROUND(erf(2.0f))
    ROUND(erfc(4.0f) * 1e8f) ROUND(erfc(5.0f) * 1e12f) ROUND(erfc(-1.0f)) ROUND(tgamma(5.0f)) ROUND(tgamma(-1.5f))
    ROUND(lgamma(1.001f) * 1000) ROUND(lgamma(100.0f)) ROUND(lgamma(-0.5f)) ROUND(expm1(1e-5f) * 1e4f) F(log1p(INFINITY))
    ROUND(remainder(5.5f, 2.0f)) ROUND(remainder(-7.0f, 2.0f)) ROUND(logb(1000.0f)) ROUND(atan2pi(1.0f, -1.0f))
    ROUND(acospi(0.5f)) ROUND(maxmag(-3.0f, 2.0f)) ROUND(minmag(-3.0f, 2.0f)) r[n++] = isnan(nan(5u));
    int q, sign;
    ROUND(remquo(29.0f, 3.0f, &q)) r[n++] = q;
    ROUND(lgamma_r(-2.5f, &sign)) r[n++] = sign;
    float4 v = (float4)(0.1f, -0.5f, 1.5f, 3.0f);
    ROUND(erf(v).y) ROUND(cbrt(v).z) ROUND(hypot(v, v.wzyx).x) ROUND(rootn(v + 1, (int4)(3)).w) ROUND(remainder(v, (float4)(1)).z)
    int4 exponents;
    ROUND(frexp(v, &exponents).w) r[n++] = exponents.w;
    F(bitselect(1.0f, -2.0f, as_float(0x80000000))) F(bitselect(v, -v, (float4)(as_float(0x80000000))).x)
    ROUND(dot(2.0f * one, 3.0f)) ROUND(length(-2.0f * one)) ROUND(distance(one, 3.0f)) ROUND(normalize(-5.0f * one)) ROUND(fast_length(-one))
    float4 c = cross((float4)(1, 2, 3, 4), (float4)(3, 1, 2, 5));
    ROUND(c.x) ROUND(c.y) ROUND(c.z) ROUND(c.w)
    int4 mixed = shuffle((int4)(1, 2, 3, 4), (uint4)(3, 0, 5, 1)), both = shuffle2((int4)(1, 2, 3, 4), (int4)(5, 6, 7, 8), (uint4)(7, 0, 5, 1));
    r[n++] = mixed.x * 1000 + mixed.y * 100 + mixed.z * 10 + mixed.w; r[n++] = both.x * 1000 + both.y * 100 + both.z * 10 + both.w;
    uint distant = abs_diff(r[n] - 2147483647 - 1, 2147483647); long widened = abs_diff(r[n] - 2147483647 - 1, 2147483647);
    r[n++] = distant; r[n++] = (int)(widened >> 31);
    float8 w = (float8)(0.1f, -0.5f, 1.5f, 3.0f, -2.0f, 7.5f, 0.0f, 100.0f), whole, cosines;
    int8 powers;
    ROUND(erfc(w).s4) ROUND(atan2(w, w.s76543210).s1) ROUND(fmax(w, 1.0f).s0) ROUND(smoothstep(w - 1, w + 1, w).s3)
    ROUND(ldexp(w, 3).s5) ROUND(ldexp(w, (int8)(2)).s4) ROUND(fract(w, &whole).s1) ROUND(whole.s1) ROUND(sincos(w, &cosines).s5) ROUND(cosines.s5)
    ROUND(frexp(w, &powers).s7) r[n++] = powers.s7;
    r[n++] = isnan(w / w).s6; r[n++] = isgreater(w, w.s76543210).s7; r[n++] = ilogb(w).s7; r[n++] = select(w, -w, isless(w, (float8)(0))).s4;
    int8 i = (int8)(-1, 2, -3, 4, -5, 6, -7, r[n] - 2147483647 - 1);
    uint8 magnitudes = abs(i); long8 far = convert_long8(abs_diff(i, (int8)(5)));
    r[n++] = magnitudes.s7; r[n++] = (int)(far.s7 >> 4); r[n++] = clamp(i, -3, 3).s5; r[n++] = max(i, 1).s4; r[n++] = mad_sat(i, i, i).s7;
    r[n++] = select(i, i * 2, (uint8)(0x80000000u)).s1;
    prefetch(f, 1);
}
