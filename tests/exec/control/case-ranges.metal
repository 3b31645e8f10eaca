// GNU's ranges of case labels, of signed and unsigned selectors, with cases that run on into the next.
//! covers: C++ stmt.switch
//! oracle: clang
//! kernel: signed_ranges
//! threads: 12
//! arg 0: i32 -2147483648 -6 -5 -1 0 1 3 4 9 10 1000000 2147483647
//! arg 1: i32 0*12
//! expect 1: i32 50 9 1 1 2 7 7 9 9 4 4 60
//! kernel: unsigned_ranges
//! threads: 6
//! arg 0: u64 0 9 0x8000000000000000 0xfffffffffffffffe 0xffffffffffffffff 10
//! arg 1: i32 0*6
//! expect 1: i32 1 1 2 2 3 0
#include <metal_stdlib>

kernel void signed_ranges(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                          uint t [[thread_position_in_grid]]) {
    int r = 0;
    switch (in[t]) {
        case -5 ... -1: r = 1; break;
        case 0: r = 2; break;
        case 1 ... 3: r = 3;
        case 10 ... 1000000: r += 4; break;
        case (-2147483647 - 1) ... -7: r = 50; break;
        case 2147483647 ... 2147483647: r = 60; break;
        default: r = 9;
    }
    out[t] = r;
}

kernel void unsigned_ranges(device const ulong* in [[buffer(0)]], device int* out [[buffer(1)]],
                            uint t [[thread_position_in_grid]]) {
    switch (in[t]) {
        case 0 ... 9: out[t] = 1; break;
        case 0x8000000000000000 ... 0xfffffffffffffffe: out[t] = 2; break;
        case 0xffffffffffffffff: out[t] = 3;
    }
}
