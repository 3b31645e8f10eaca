//! arg out=zeros:f32:14
//! expect out: 3 4 5 5 1 2 1 2 8 9 6 7 1 2
// Literals of vectors whose type is a `typedef`, a macro, or pasted of two names.
#define PASTE(a, b) a##b
#define VECTOR(type, count) PASTE(type, count)
#define REAL float
#define REAL2 VECTOR(REAL, 2)
#define MAKE(a, b) (T2)(a, b)
#define M2 float2
typedef float2 T2;
typedef REAL2 P2;
static float sum(float a, float b) { return a + b; }
__kernel void k(__global float2* out) {
    out[0] = (T2)(3.0f, 4.0f);
    out[1] = (T2)(5.0f);
    out[2] = MAKE(1, 2);
    out[3] = (M2)(1.0f, 2.0f);
    out[4] = (REAL2)(8.0f, (sum)(4.0f, 5.0f));
    P2 pair = (P2)(6, 7);
    out[5] = pair;
    out[6] = (VECTOR(float, 2))(1, 2);
}
