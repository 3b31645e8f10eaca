// Of templates for arrays, the one for more dimensions is the more specialised.
//! covers: C++ temp.func.order
//! oracle: clang
//! kernel: copy
//! arg 0: i32 0*9
//! expect 0: i32 1 2 3 4 5 6 7 8 111

#include <metal_stdlib>
using namespace metal;

constant int cube[2][2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};

template <typename T, uint N>
void fill(thread T (&to)[N], constant T (&from)[N], thread int& calls) {
    for (uint i = 0; i < N; i++) to[i] = from[i];
    if (calls % 10 < 1) calls += 1;
}
template <typename T, uint N, uint M>
void fill(thread T (&to)[N][M], constant T (&from)[N][M], thread int& calls) {
    for (uint i = 0; i < N; i++) fill(to[i], from[i], calls);
    if (calls % 100 < 10) calls += 10;
}
template <typename T, uint N, uint M, uint L>
void fill(thread T (&to)[N][M][L], constant T (&from)[N][M][L], thread int& calls) {
    for (uint i = 0; i < N; i++) fill(to[i], from[i], calls);
    calls += 100;
}
kernel void copy(device int* out) {
    int copy[2][2][2];
    int calls = 0;
    fill(copy, cube, calls);
    for (int i = 0; i < 8; i++) out[i] = copy[i / 4][i / 2 % 2][i % 2];
    out[8] = calls;
}
