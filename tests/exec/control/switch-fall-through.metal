// A case without a break runs into the next one.
//! covers: C++ stmt.switch
//! oracle: clang
//! kernel: fall
//! threads: 4
//! group: 4
//! arg 0: i32 0*4
//! expect 0: i32 111 11 1 1000

#include <metal_stdlib>
using namespace metal;

kernel void fall(device int* out, uint i [[thread_position_in_grid]]) {
    int sum = 0;
    switch (i) {
        case 0: sum += 100;
        case 1: sum += 10;
        case 2: sum += 1; break;
        default: sum = 1000;
    }
    out[i] = sum;
}
