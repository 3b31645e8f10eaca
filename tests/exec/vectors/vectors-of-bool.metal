// Vectors of bool: comparisons, logic, conversions to and from numbers, choices, components as lvalues.
//! covers: MSL 2.2, MSL 2.2.1, MSL 3.1, MSL 6.4, C++ conv.bool
//! oracle: exact
//! kernel: logic
//! arg 0: i32 0*72
//! arg 1: i32 1 -2 0 4
//! expect 0: i32 1 0 0 1 0 1 0 0 0 0 1 0 1 1 0 1 0 0 0 1 1 0 1 1 1 1 0 1 1 0 0 1 0 1 1 0 1 -2 9 4 1 0 7 1 1 0
//! kernel: components
//! arg 0: i32 0*32
//! expect 0: i32 0 1 1 0 1 1 3 1 1 0 4 1 0 1 1 2 255 0

#include <metal_stdlib>
using namespace metal;

static void put(device int* out, thread int& n, bool4 v) {
    for (int i = 0; i < 4; i++) out[n++] = v[i];
}

kernel void logic(device int* out [[buffer(0)]], constant int4& in [[buffer(1)]]) {
    int4 v = in;
    int n = 0;
    put(out, n, v > 0);
    put(out, n, v < 0);
    put(out, n, v == 0);
    put(out, n, bool4(v));
    put(out, n, v > 0 && v != 1);
    put(out, n, v > 0 || bool4(false, false, true, true));
    put(out, n, !(v == 0));
    put(out, n, bool4(v) & (v > 0));
    put(out, n, (v > 0) ^ bool4(true));
    int4 chosen = select(int4(9), v, v != 0);
    for (int i = 0; i < 4; i++) out[n++] = chosen[i];
    out[n++] = any(v > 3);
    out[n++] = all(v > -2);
    bool4 flags = v > -1;
    out[n++] = int(flags.x) + int(flags.z) * 2 + int(flags.w) * 4;
    flags.xy = flags.yx;
    out[n++] = flags.y;
    out[n++] = any(flags.xz);
    out[n++] = all(flags);
}

kernel void components(device int* out [[buffer(0)]]) {
    int n = 0;
    bool4 v = bool4(false);
    v.y = 5;
    v.zw = bool2(true, false);
    put(out, n, v);
    bool2 w = {v.y, v.z};
    int2 numbers = int2(w);
    out[n++] = numbers.x;
    out[n++] = numbers.y;
    float3 floats = float3(bool3(true, false, true)) * 1.5f;
    out[n++] = int(floats.x + floats.z);
    bool3 converted = bool3(float3(0.5f, -2.0f, 0.0f));
    out[n++] = converted.x;
    out[n++] = converted.y;
    out[n++] = converted.z;
    out[n++] = sizeof(bool4);
    v[1] = !v[1];
    v[3] = 1 < 2;
    out[n++] = v.w;
    out[n++] = v.y;
    w &= bool2(true, false);
    out[n++] = w.x;
    out[n++] = w.x != w.y;
    w = !w;
    out[n++] = (w.x ? 1 : 2);
    uchar2 bytes = uchar2(w) * uchar(255);
    out[n++] = bytes.y;
    out[n++] = bytes.x;
}
