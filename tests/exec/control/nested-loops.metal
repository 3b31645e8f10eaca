// Break and continue leave the innermost loop only.
//! covers: C++ stmt.jump
//! oracle: clang
//! kernel: nest
//! threads: 6
//! group: 6
//! arg 0: i32 0*6
//! expect 0: i32 16 15 15 14 13 12

#include <metal_stdlib>
using namespace metal;

kernel void nest(device int* out, uint i [[thread_position_in_grid]]) {
    int count = 0;
    for (int row = 0; row < 6; ++row) {
        if (row == int(i)) continue;
        int column = -1;
        while (true) {
            ++column;
            if (column > row || column > 5) break;
            if (column == 2) continue;
            ++count;
        }
    }
    out[i] = count;
}
