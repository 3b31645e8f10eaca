// Copies of structures that take a loop: from lane to lane, of one, backwards and unaligned, from either of two.
//! oracle: clang
//! kernel: strided
//! threads: 40
//! group: 32
//! arg 0: i32 0*12000
//! arg 1: i32 1..12001
//! expect 0: i32 1..12001
//! kernel: fixed
//! threads: 40
//! group: 32
//! arg 0: i32 0*1500
//! arg 1: i32 1..1501
//! expect 0: i32 0*900 601..901 0*300
//! kernel: back
//! threads: 4
//! group: 32
//! arg 0: u8 0*1204
//! arg 1: u8 1*301 2*301 3*301 4*301
//! arg 2: u32 4
//! expect 0: u8 4*301 3*301 2*301 1*301
//! kernel: chosen
//! threads: 4
//! group: 32
//! arg 0: i32 0*1200
//! arg 1: i32 1..1201
//! arg 2: i32 5*1200
//! expect 0: i32 1..301 5*600 901..1201

#include <metal_stdlib>
using namespace metal;

struct Big { int a[300]; };
struct Odd { uchar a[301]; };

kernel void strided(device Big* y, device const Big* x, uint t [[thread_position_in_grid]]) { y[t] = x[t]; }

kernel void fixed(device Big* y, device const Big* x, uint t [[thread_position_in_grid]]) {
    if (t == 0) y[3] = x[2];
}

kernel void back(device Odd* y, device const Odd* x, constant uint& n, uint t [[thread_position_in_grid]]) {
    y[n - 1 - t] = x[t];
}

kernel void chosen(device Big* y, device const Big* x, device const Big* z, uint t [[thread_position_in_grid]]) {
    y[t] = *(t % 3 == 0 ? &x[t] : &z[t]);
}
