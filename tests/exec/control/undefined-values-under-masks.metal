// A value of a variable that was never written may be stored in some lanes; the others keep theirs.
//! kernel: k
//! threads: 40
//! group: 40
//! arg 0: i32 0*40
//! expect 0: i32 5*3 6*37
//! kernel: in_loop
//! threads: 40
//! group: 40
//! arg 0: i32 0*40
//! expect 0: i32 5*3 6*37
#include <metal_stdlib>
using namespace metal;
struct Pair { int used, unused; };
static Pair kept(Pair p) { Pair q = p; q.used = 5; return q; }

kernel void k(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    Pair never, p = {6, 7};
    if (i < 3) { p = kept(never); }
    y[i] = p.used;
    if (i >= 3 && p.unused != 7) y[i] = 0;
}

kernel void in_loop(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    Pair never, p = {6, 7};
    for (uint k = i; k < 4; k++) {
        never.unused = never.unused;
        if (k == 3) break;
        p = kept(never);
    }
    y[i] = p.used;
    if (i >= 3 && p.unused != 7) y[i] = 0;
}
