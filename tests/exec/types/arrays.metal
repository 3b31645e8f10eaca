// Local arrays with constant and varying indices, also of several dimensions.
//! covers: C++ dcl.array
//! oracle: clang
//! kernel: index
//! threads: 6
//! group: 6
//! arg 0: i32 0*6
//! expect 0: i32 2003 1004 100 5003 4004 3100

#include <metal_stdlib>
using namespace metal;

kernel void index(device int* out, uint i [[thread_position_in_grid]]) {
    int table[2][3];
    for (int row = 0; row < 2; ++row)
        for (int column = 0; column < 3; ++column) table[row][column] = row * 3 + column;
    int reversed[3];
    for (int column = 0; column < 3; ++column) reversed[column] = table[i / 3][2 - column];
    table[1][2] = 100;
    out[i] = reversed[i % 3] * 1000 + table[1][i % 3];
}
