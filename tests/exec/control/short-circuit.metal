// The right side of && and || and the other branch of ?: are not evaluated.
//! covers: C++ expr.log, C++ expr.cond
//! oracle: clang
//! kernel: lazy
//! threads: 4
//! group: 4
//! arg 0: i32 7 7
//! arg 1: i32 0*12
//! expect 1: i32 0 1 7 1 1 7 0 0 1 1 0 1

#include <metal_stdlib>
using namespace metal;

static bool touch(thread int& counter, bool value) {
    ++counter;
    return value;
}
kernel void lazy(device const int* two, device int* out, uint i [[thread_position_in_grid]]) {
    int ands = 0, ors = 0;
    bool first = i & 1, second = i & 2;
    bool both = first && touch(ands, second);
    bool either = second || touch(ors, first);
    out[3 * i] = ands;
    out[3 * i + 1] = ors;
    // Only two elements are bound: an index beyond them must not be read.
    out[3 * i + 2] = i < 2 ? two[i] : int(both || either);
}
