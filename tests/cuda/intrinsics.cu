//! arg r=zeros:i32:40
//! arg f=f32:1,2
//! expect r: 2 3 -3 -2 2 3 -2147483647 13 3 3 -2147483647 112838 154173 286652 27246 345891 195996 1163173 57236 500000 300000 50000 50000 -50000 -200000 75000 3 100000 -2 1 1 33621264 -65534 2130772351 285212416 526 65535 16777216 33751041 2147483647
// Functions of CUDA's that Metal lacks, at values that tell them apart: ties, tails, limits. The values follow from
// CUDA's mathematical functions and from the C library's.
#define ROUND(x) r[n++] = __float2int_rn((x) * 100000.0f);
__global__ void k(int* r, const float* f) {
    int n = 0;
    float one = f[0], two = f[1];
    r[n++] = lrintf(2.5f * one); r[n++] = lroundf(2.5f * one); r[n++] = __float2int_rd(-2.5f * one); r[n++] = __float2ll_ru(-2.5f * one);
    r[n++] = __hadd(7, -2); r[n++] = __rhadd(7, -2); r[n++] = __uhadd(0xfffffffeu, 4u);
    r[n++] = __sad(-5, 7, 1u); r[n++] = __usad(5u, 7u, 1u); r[n++] = __funnelshift_l(0x80000000u, 1u, 1u); r[n++] = __funnelshift_r(2u, 1u, 33u);
    ROUND(erff(1e-4f * one) * 10000.0f) ROUND(erfcf(4.0f * one) * 1e8f) ROUND(normcdff(-5.0f * one) * 1e7f) ROUND(erfinvf(0.3f * one))
    ROUND(erfcinvf(1e-6f * one)) ROUND(normcdfinvf(0.975f * one)) ROUND(tgammaf(4.5f * one)) ROUND(lgammaf(0.5f * one))
    ROUND(hypotf(3e30f * one, 4e30f) * 1e-30f) ROUND(norm3df(1.0f, two, two)) ROUND(rnorm4df(one, one, one, one)) ROUND(rcbrtf(8.0f * one))
    ROUND(remainderf(7.5f * one, two)) ROUND(logbf(0.3f * one)) ROUND(scalbnf(3.0f * one, -2)) r[n++] = ilogbf(9.0f * one);
    int quotient;
    ROUND(remquof(-29.0f * one, 3.0f, &quotient)) r[n++] = quotient;
    // Two products whose rounding errors a fused operation would keep.
    float a = 1.0f + 1.1920929e-7f * one;
    r[n++] = __fadd_rn(__fmul_rn(a, a), -__fmul_rn(a, a)) == 0.0f;
    r[n++] = __fsub_rn(__fmul_rn(a, a), 1.0f) == 2.3841858e-7f;
    r[n++] = __vadd4(0x01ff02f0u, 0x01020320u); r[n++] = __vaddus2(0xfff00001u, 0x00200001u); r[n++] = __vmaxs4(0x80ff017fu, 0x7f010000u);
    r[n++] = __vabsdiffu4(0x10ff0005u, 0x2000ff05u); r[n++] = __vsadu4(0x10ff0005u, 0x2000ff05u); r[n++] = __vcmpgts2(0x8000ffffu, 0x7ffffffeu);
    r[n++] = __vsetltu4(0x01800203u, 0x02010203u); r[n++] = __vavgu4(0x01030000u, 0x02030001u); r[n++] = __vnegss2(0x80000001u);
}
