// Lanes that returned take no part in what follows.
//! covers: C++ stmt.jump
//! oracle: clang
//! kernel: leave
//! threads: 40
//! group: 40
//! arg 0: i32 9*40
//! expect 0: i32 (9 1)*10 (0 5)*10

#include <metal_stdlib>
using namespace metal;

kernel void leave(device int* out, uint i [[thread_position_in_grid]]) {
    if (i < 20 && i % 2 == 0) return;
    if (i < 20) {
        out[i] = 1;
        return;
    }
    out[i] = i % 2 == 0 ? 0 : 5;
}
