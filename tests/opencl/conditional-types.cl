//! arg r=zeros:i32:7
//! expect r: 3 1 4 9 2 5 6
// Types and macros by conditions over the values of macros: only the branch that is taken says what names are.
#define PRECISION (16 * 2)
#define KIND 0x2
#define IS_WIDE (PRECISION > 32 && KIND == 2)
#if PRECISION == 64 || !defined(KIND)
typedef float2 real;
#define LESS(a, b) ((a).x < (b).x)
#elif PRECISION == 16
typedef half2 real;
#elif (PRECISION >> 3) - 4 == 0 && !IS_WIDE
typedef float real;
#define LESS(a, b) ((a) < (b))
#else
typedef float4 real;
#endif
#if KIND & 1
int4 kind(int4 a) { return a; }
#else
int kind(int a) { return a + 1; }
#endif
// Headers that hosts share.
#ifdef __cplusplus
#include <math.h>
typedef class real Shared;
#elif defined(__OPENCL_VERSION__)
typedef int Shared;
#endif
#if defined(__cplusplus) || __cplusplus >= 201103L
#error not C
#endif
__kernel void k(__global int* r) {
    real a = 3, b = 4;
    r[0] = a;
    if (a < b) r[1] = LESS(a, b);
    if (b == 4) r[2] = b;
    r[3] = a > b ? 8 : 9;
    if (kind(1) > 1) r[4] = kind(1);
    Shared five = 5;
    r[5] = five;
#ifndef __cplusplus
    r[6] = 6;
#endif
}
