// The best candidate wins: by type, by address space, by number.
//! covers: C++ over.match, MSL 1.5.1
//! kernel: which
//! arg 0: i32 0*6
//! expect 0: i32 1 2 3 4 5 6

#include <metal_stdlib>
using namespace metal;

static int pick(int) { return 1; }
static int pick(float) { return 2; }
static int pick(int, int) { return 3; }
static int where(device int*) { return 4; }
static int where(thread int*) { return 5; }
static int where(constant int*) { return 6; }
constant int fixed = 0;
kernel void which(device int* out) {
    int local = 0;
    out[0] = pick(short(1));
    out[1] = pick(1.5f);
    out[2] = pick(1, 2);
    out[3] = where(out);
    out[4] = where(&local);
    out[5] = where(&fixed);
}
