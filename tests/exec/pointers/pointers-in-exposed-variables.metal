// A pointer whose variable is only known at run time reads and replaces pointers in variables.
//! oracle: clang
//! threads: 40
//! group: 40
//! arg 0: i32 0*40
//! kernel: three_levels
//! expect 0: i32 (5 8) *20
//! kernel: four_levels
//! expect 0: i32 5*40
//! kernel: replaced
//! expect 0: i32 (8 5) *20
//! kernel: copied
//! expect 0: i32 (8 5) *20
//! kernel: in_loop
//! expect 0: i32 30*40
#include <metal_stdlib>
using namespace metal;

kernel void three_levels(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int a = 5, b = 8;
    thread int* p[2] = {&a, &b};
    thread int* thread* q = p;
    thread int* thread* thread* r = &q;
    r += i > 100;
    y[i] = *(*r)[i & 1];
}

kernel void four_levels(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int x = 5;
    thread int* p = &x;
    thread int* thread* q = &p;
    thread int* thread* thread* r = &q;
    thread int* thread* thread* thread* s = &r;
    s += i > 100;
    y[i] = ****s;
}

kernel void replaced(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int a = 5, b = 8;
    thread int *p = &a, *q = &a;
    thread int* thread* r = (i & 1) ? &q : &p;
    *r = &b;
    y[i] = *p;
}

struct Holder { thread int* pointer; int number; };

kernel void copied(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int a = 5, b = 8;
    Holder p = {&a, 1}, q = {&a, 2}, other = {&b, 3};
    thread Holder* r = (i & 1) ? &q : &p;
    *r = other;
    y[i] = *p.pointer;
}

kernel void in_loop(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int x = 5, sum = 0;
    thread int* p = &x;
    thread int* thread* const q = &p;
    thread int* thread* const thread* r = &q;
    for (uint k = 0; k <= 5; k++) {
        thread int* thread* const thread* all[2] = {r, r};
        r = (all[1] = r);
        sum += ***r;
    }
    y[i] = sum;
}
