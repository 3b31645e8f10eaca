// Trees of calls that take years: each kernel is ended by its deadline.
#include <metal_stdlib>
using namespace metal;

template <int N> int twice(int x) { return twice<N - 1>(x ^ N) * 3 + twice<N - 1>((x >> 1) + N); }
template <> int twice<0>(int x) { return x * x ^ 5; }

kernel void tree(device int* y, uint t [[thread_position_in_grid]]) {
    y[t] = twice<40>(t);
}

kernel void tree_in_a_loop(device int* y, uint t [[thread_position_in_grid]]) {
    for (int i = 0; i < 4; i++) y[t] += twice<40>(t + i);
}

template <int N> int keep(thread int* p, int x) {
    p[x & 7] += N;
    return keep<N - 1>(p + (x & 1), x ^ N) + keep<N - 1>(p, (x >> 1) + N);
}
template <> int keep<0>(thread int* p, int x) { return p[x & 7] ^ x; }

kernel void tree_over_an_array(device int* y, uint t [[thread_position_in_grid]]) {
    int own[64] = {};
    y[t] = keep<40>(own + (t & 3), t);
}
