// Sums that a loop keeps in the memory of one argument while it reads and writes others: in separate buffers, in one
// buffer bound twice, at another offset, and through a pointer in memory. Stores through one argument are seen by loads
// through another.
//! covers: C++ stmt.for
//! threads: 40
//! group: 40
//! kernel: rows
//! arg 0: i32 5*320
//! arg 1: i32 (1 2 3 4 5 6 7 8) *40
//! arg 2: i32 8
//! expect 0: i32 (41 5*7) *40
//! kernel: rows
//! arg 0: i32 5*320
//! arg 1: i32 (1 2 3 4 5 6 7 8) *40
//! arg 2: i32 0
//! expect 0: i32 5*320
//! kernel: rows
//! arg 0: i32 (1 2 3 4 5 6 7 8) *40
//! arg 1: same 0
//! arg 2: i32 8
//! expect 0: i32 (37 2 3 4 5 6 7 8) *40
//! kernel: rows
//! arg 9: i32 (1 2 3 4 5 6 7 8) *40 0
//! arg 0: same 9 0..1280
//! arg 1: same 9 4..1284
//! arg 2: i32 7
//! expect 9: i32 (36 2 3 4 5 6 7 8) *40 0
//! kernel: rows
//! arg 9: i32 (1 2 3 4 5 6 7 8) *40 0
//! arg 0: same 9 4..1284
//! arg 1: same 9 0..1280
//! arg 2: i32 8
//! expect 9: i32 (1 39 3 4 5 6 7 8) *40 0
//! kernel: rows
//! arg 9: i32 5*320 (1 2 3 4 5 6 7 8) *40
//! arg 0: same 9 0..1280
//! arg 1: same 9 1280..2560
//! arg 2: i32 8
//! expect 9: i32 (41 5*7) *40 (1 2 3 4 5 6 7 8) *40
//! kernel: rows
//! arg 9: i32 5*320 (1 2 3 4 5 6 7 8) *40
//! arg 0: same 9 0..1284
//! arg 1: same 9 1280..2560
//! arg 2: i32 8
//! expect 9: i32 (41 5*7) *40 (1 2 3 4 5 6 7 8) *40
//! kernel: rows
//! arg 0: i32 5*297
//! arg 1: i32 (1 2 3 4 5 6 7 8) *40
//! arg 2: i32 8
//! expect 0: i32 (41 5*7) *37 41
//! faults: yes
//! kernel: rows
//! arg 0: i32 5*320
//! arg 1: i32 (1 2 3 4 5 6 7 8) *39 1 2 3
//! arg 2: i32 8
//! expect 0: i32 (41 5*7) *39 11 5*7
//! faults: yes
//! kernel: by_lane
//! arg 0: i32 0*40
//! arg 1: i32 1..41
//! expect 0: i32 0 1 3 6 10 15 21 28 36 45 55 66 78 91 105 120 136 153 171 190 210 231 253 276 300 325 351 378 406 435 465 496 528 561 595 630 666 703 741 780
//! kernel: two_sums
//! arg 0: i32 0*40
//! arg 1: i32 1*40
//! arg 2: i32 3*40
//! arg 3: i32 5
//! expect 0: i32 15*40
//! expect 1: i32 31*40
//! kernel: two_sums
//! arg 0: i32 1*40
//! arg 1: same 0
//! arg 2: i32 3*40
//! arg 3: i32 2
//! expect 0: i32 19*40
//! kernel: two_sums
//! arg 0: i32 1*40
//! arg 1: i32 1*40
//! arg 2: same 1
//! arg 3: i32 2
//! expect 0: i32 5*40
//! expect 1: i32 9*40
//! kernel: nest
//! arg 0: i32 0*40
//! arg 1: i32 0*160
//! arg 2: i32 2*40
//! arg 3: i32 4
//! expect 0: i32 32*40
//! expect 1: i32 8*160
//! kernel: nest
//! arg 0: i32 1*160
//! arg 1: same 0
//! arg 2: i32 2*160
//! arg 3: i32 1
//! threads: 1
//! group: 1
//! expect 0: i32 6 1*159
//! kernel: through_memory
//! arg 0: i32 1*40
//! arg 1: i64 0
//! pointer 1: 0 to 0
//! arg 2: i32 3
//! expect 0: i32 8*40
//! kernel: through_memory
//! arg 0: i32 1*40
//! arg 1: i64 0
//! pointer 1: 0 to 3
//! arg 2: i32 3
//! arg 3: i32 2*40
//! expect 0: i32 7*40

#include <metal_stdlib>
using namespace metal;

kernel void rows(device int *c [[buffer(0)]], device const int *a [[buffer(1)]], constant int &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    for (int k = 0; k < n; k++)
        c[i * 8] += a[i * 8 + k];
}

kernel void by_lane(device int *c [[buffer(0)]], device const int *a [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    for (uint k = 0; k < i; k++)
        c[i] += a[k];
}

kernel void two_sums(device int *x [[buffer(0)]], device int *y [[buffer(1)]], device const int *a [[buffer(2)]],
    constant int &n [[buffer(3)]], uint i [[thread_position_in_grid]])
{
    for (int k = 0; k < n; k++) {
        x[i] += a[i];
        y[i] += 2 * a[i];
    }
}

kernel void nest(device int *total [[buffer(0)]], device int *sums [[buffer(1)]], device const int *a [[buffer(2)]],
    constant int &n [[buffer(3)]], uint i [[thread_position_in_grid]])
{
    for (int k = 0; k < n; k++) {
        for (int j = 0; j < n; j++)
            sums[i * 4 + k] += a[i];
        total[i] += sums[i * 4 + k];
    }
}

struct Pointers {
    device int *p;
};

kernel void through_memory(device int *c [[buffer(0)]], constant Pointers &pointers [[buffer(1)]],
    constant int &n [[buffer(2)]], uint i [[thread_position_in_grid]])
{
    for (int k = 0; k < n; k++)
        c[i] += pointers.p[i];
}
