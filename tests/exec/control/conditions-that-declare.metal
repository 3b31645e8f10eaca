// Conditions of loops that declare a variable, which each iteration initialises again.
//! covers: C++ stmt.while, C++ stmt.for, C++ stmt.jump
//! oracle: clang
//! kernel: declared
//! threads: 40
//! group: 40
//! arg 0: i32 0*160
//! arg 1: i32 0
//! expect 0: i32 0 0 0 0 101 0 1 1 302 9 2 3 303 16 1 1 704 20 2 3 1205 20 1 1 1206 30 1 1 1907 39 2 3 2708 46 1 1 2709 46 1 1 3710 46 1 1 4811 56 2 3 4812 65 2 3 6113 65 1 1 7514 69 1 1 7515 69 1 1 9116 79 1 1 10817 79 2 3 10818 86 2 3 12719 90 2 3 14720 90 1 1 14721 90 1 1 16922 99 1 1 19223 106 1 1 19224 110 1 1 1 110 1 1 2602 120 2 3 2603 129 2 3 5404 136 2 3 8305 136 2 3 8306 136 2 3 11407 146 1 1 14608 155 1 1 14609 155 1 1 18010 159 1 1 21511 159 1 1 21512 169 1 1 25213 169 1 1 29014 176 1 1 29015 180 1 1

#include <metal_stdlib>
using namespace metal;

struct Rest {
    int v;
    explicit operator bool() const { return v > 2; }
};

kernel void declared(device int* out [[buffer(0)]], constant int& x [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    int n = int(i) + x, sum = 0, k = 0;
    device int* o = out + 4 * i;
    while (int left = n - k) {
        k++;
        if (left % 3 == 0) continue;
        if (left == 25) break;
        sum += left;
    }
    o[0] = sum * 100 + k;
    sum = 0;
    for (int j = 0; int left = n - j; j++) {
        if (left % 4 == 1) continue;
        for (int m = left; int rest = m % 5; m++) sum += rest;
        if (sum > 300) break;
    }
    o[1] = sum;
    k = n;
    while (Rest rest{k}) k -= rest.v / 3 + 1;
    o[2] = k;
    sum = 0;
    while (thread int* at = k > 0 ? &sum : nullptr) { *at += k; k--; }
    o[3] = sum;
}
