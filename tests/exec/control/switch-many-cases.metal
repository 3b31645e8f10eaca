// A switch of more cases than a SIMD-group has lanes: lanes of one case and of the default run together.
//! covers: C++ stmt.switch
//! kernel: many
//! threads: 64
//! group: 64
//! arg 0: i32 0*64
//! arg 1: i32 0 37 44 43 4 65 41 41 8 60 41 11 36 44 41 15 36 44 40 19 62 44 44 23 66 41 26 37 61 41 30 37 44 43 34 37 44 41 2 63 41 41 6 67 41 45 36 44 40 49 36 44 44 17 60 41 42 21 64 41 10 37 44 41
//! expect 0: i32 16 4058 4028 99 88 12050 4086 4098 160 12050 4098 214 66 4028 4112 286 66 4028 6034 358 12050 4028 4028 430 12050 4144 484 4058 12050 4136 556 4058 4030 99 628 4060 4030 4176 52 12056 4176 4166 124 12056 4166 12056 66 4030 6038 12056 66 4030 4030 322 12056 4206 99 394 12056 4196 196 4060 4030 4218

#include <metal_stdlib>
using namespace metal;

#define CASE(n) case (n): r += (n) * 3 + 1; break;
#define FOUR(n) CASE(n) CASE(n + 1) CASE(n + 2) CASE(n + 3)

kernel void many(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
    int r = 1;
    for (int k = 0; k < 2; k++) {
        switch (in[i] + k) {
            FOUR(0) FOUR(4) FOUR(8) FOUR(12) FOUR(16) FOUR(20) FOUR(24) FOUR(28) FOUR(32)
            case 36: r += 5;
            case 37: r += 7; break;
            case 40:
            case 41: r += 1000 + simd_sum(1); break;
            case 42: {
                int n = 0;
                for (int j = 0; j < 20; j++) {
                    if (j % 3 == int(i % 3)) continue;
                    n += j;
                    if (n > 20 + int(i)) break;
                }
                r += n;
                break;
            }
            case 43: out[i] = 99; return;
            case 44: continue;
            default: r += 2000 + simd_sum(1);
        }
        r *= 2;
    }
    out[i] = r;
}
