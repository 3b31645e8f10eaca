// `if` and `switch` with an initialiser or a declaration (C++17), whose names live to the end of the statement.
//! covers: C++ stmt.select
//! oracle: clang
//! kernel: choose
//! threads: 4
//! group: 4
//! arg 0: i32 1 -2 3 8
//! arg 1: i32 0*4
//! arg 2: i32 0*4
//! arg 3: i32 0*4
//! expect 1: i32 2 2 4 9
//! expect 2: i32 10 -1 30 88
//! expect 3: i32 5 1 11 26

#include <metal_stdlib>
using namespace metal;

struct Pair { int a, b; };
Pair split(int x) { return Pair{x * 2, x + 1}; }

kernel void choose(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                   device int* cases [[buffer(2)]], device int* bound [[buffer(3)]],
                   uint i [[thread_position_in_grid]])
{
    int x = 100;
    if (int x = in[i]; x > 0) { out[i] = x + 1; } else { out[i] = -x; }
    switch (int v = in[i]; v & 3) {
        case 1: cases[i] = v * 10; break;
        case 3: cases[i] = v * 10; break;
        case 0: cases[i] = v * 11; break;
        default: cases[i] = x - 101;
    }
    switch (int s = in[i] == 8) {
        case 1: out[i] += 0 * s; break;
        default: break;
    }
    if (auto [a, b] = split(in[i]); a > 0 && b > 0) { bound[i] = a + b; }
    if (Pair p{1, 2}; p.a < p.b) { bound[i] += p.a; }
    if (int y{in[i]}) { bound[i] += y - in[i]; } else { bound[i] = -y; }
}
