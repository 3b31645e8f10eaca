// `operator[]` with several parameters, and the comma operator where it has one.
//! covers: C++ over.oper, C++ expr.comma
//! kernel: subscripts
//! arg 0: i32 0..12
//! expect 0: i32 7 1 2 20 4 5 6 21 8 9 10 1

#include <metal_stdlib>
using namespace metal;

struct Grid {
    device int* cells;
    device int& operator[](int x, int y) const { return cells[y * 4 + x]; }
    template <typename... T> int operator[](int first, int second, T... rest) const { return first + second + (rest + ...); }
};
struct Row {
    device int* cells;
    device int& operator[](int x) const { return cells[x]; }
};

kernel void subscripts(device int* out) {
    Grid grid = {out};
    grid[3, 0] = 20;
    grid[(0, 3), 1] = 21;
    grid[3, 2] = grid[1, 0];
    Row row = {out};
    row[5, 0] = grid[1, 2, 4];
}
