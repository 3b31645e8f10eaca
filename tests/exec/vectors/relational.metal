// any, all, select, comparisons of vectors.
//! covers: MSL 3.1, MSL 6.4
//! kernel: test
//! arg 0: i32 0*6
//! expect 0: i32 1 0 1 1 -1 1

#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out) {
    float4 v = float4(-1, 0, 1, 2);
    out[0] = any(v < 0);
    out[1] = all(v < 0);
    out[2] = all(v == v);
    bool4 positive = v > 0;
    out[3] = positive.z && !positive.x;
    int2 chosen = select(int2(-1), int2(1), bool2(false, true));
    out[4] = chosen.x;
    out[5] = chosen.y;
}
