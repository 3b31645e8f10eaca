// Assignment copies; members keep their places in memory.
//! covers: C++ class.copy
//! oracle: clang
//! kernel: copy
//! threads: 2
//! group: 2
//! arg 0: i32 1 2 3 4 5 6
//! expect 0: i32 3 102 1 6 105 4

#include <metal_stdlib>
using namespace metal;

struct Triple { int a, b; int c; };
kernel void copy(device Triple* all, uint i [[thread_position_in_grid]]) {
    Triple mine = all[i];
    Triple other = mine;
    other.b += 100;
    all[i].a = other.c;
    all[i].b = other.b;
    all[i].c = mine.a;
}
