//! arg r=zeros:f32:64
//! arg n=u32:7
//! expect r: 1.5 2 0 1.5 9 8 0.5 1 0.15625 4 7.5 5 1 0 24 3 4 3 2 1 20 0.5 1.5 3 0.25 2 0 1 2 3 7 2 7 4 5 6 1 1 -1 0.5 57.29578 90 3 0 4 16 5 6 254 2 2 9 8 0 0 0 0 0 0 0 0 0 0 0
// Built-in functions of one type take numbers of several: integers by the usual arithmetic conversions, and
// integers become `float` beside one, and where there is a function of floats only. A macro that is used with
// several types is translated for each use.
#define OFFSET(index) (((unsigned int)(index) >> min((unsigned int)(4) + (index), (unsigned int)(32 - 8))) + 1)
#define LIMIT(x) max(x, 0)
#define ROOT(x) sqrt(x)
#define TWICE(x) LIMIT(2 * (x))
__kernel void k(__global float* r, uint n) {
    float x = 1.5f;
    int two = 2;
    uchar small = 250;
    ulong wide = 3;
    r[0] = min(x, two);
    r[1] = max(x, 2u);
    r[2] = clamp(-x, 0, 1);
    r[3] = fmax(x, 0);
    r[4] = round(4 * pow(x, 2));
    r[5] = pow(two, 3);
    r[6] = mix(0, 1, 0.5f);
    r[7] = step(0, x);
    r[8] = smoothstep(0, 4, 1);
    r[9] = fma(two, 1, 2);
    r[10] = mad(x, 4, x);
    r[11] = hypot(3, 4);
    r[12] = fmod(7, 3);
    r[13] = atan2(0, two);
    r[14] = rotate(3u, 3);
    r[15] = select(0, wide, two);
    r[16] = bitselect(0u, 7, 4);
    r[17] = fmin(small, 3);
    r[18] = sqrt(4);
    r[19] = exp(two - 2);
    r[20] = fabs(-20);
    r[21] = native_divide(1, two);
    r[22] = native_divide(x, 1);
    r[23] = floor(n - 4);
    r[24] = native_recip(4);
    r[25] = ceil(wide - 1);
    r[26] = isnan(two);
    r[27] = isgreater(two, 1);
    r[28] = max(two, 1 + get_global_id(0));
    r[29] = min(1 + wide, 3u);
    r[30] = min(n + wide, (ulong)n);
    r[31] = clamp(two, 0u, wide);
    r[32] = max(small - 243, 3);
    r[33] = LIMIT(4);
    r[34] = LIMIT(5.0f);
    r[35] = LIMIT((ulong)6);
    r[36] = OFFSET((ulong)n);
    r[37] = OFFSET(32);
    r[38] = copysign(1, -two);
    r[39] = fdim(x, 1);
    r[40] = degrees(1);
    r[41] = round(degrees(M_PI / 2));
    r[42] = ROOT(9);
    r[43] = ROOT(0.0f);
    r[44] = TWICE(two);
    r[45] = TWICE(8.0f);
    r[46] = mad24(two, 1u, 3);
    r[47] = mul24(two, 3u);
    r[48] = max(small + 4, two);
    r[49] = ldexp(1, 1);
    r[50] = max(M_PI_2 / 2, 2u);
    r[51] = min(UINT_MAX, 9);
    r[52] = max(fmax(two, 8), two);
}
