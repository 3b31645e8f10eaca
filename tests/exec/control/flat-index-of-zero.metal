// A flat index is taken apart, in a loop that ends where nothing is left: thread 0 does not enter it, and
// the others' remainders are still their own.
//! groups: 2
//! group: 32
//! arg 0: i32 -1*64
//! kernel: positive
//! arg 1: i32 100
//! arg 2: i32 1
//! expect 0: i32 0..64
//! kernel: above_two
//! arg 1: i32 100
//! arg 2: i32 1
//! expect 0: i32 0 0 0 3..64
//! kernel: place
//! arg 1: i32 2 8 4
//! arg 2: i32 3
//! arg 3: i32 1000 10 1
//! expect 0: i32 0..4 10..14 20..24 30..34 40..44 50..54 60..64 70..74 1000..1004 1010..1014 1020..1024 1030..1034 1040..1044 1050..1054 1060..1064 1070..1074

#include <metal_stdlib>
using namespace metal;

static int remainders(int rest, int least, constant int* shape, int count) {
    int sum = 0;
    for (int axis = count - 1; axis >= 0 && rest > least; --axis) {
        sum += rest % shape[axis];
        rest /= shape[axis];
    }
    return sum;
}

kernel void positive(device int* out [[buffer(0)]], constant int* shape [[buffer(1)]],
                     constant int& count [[buffer(2)]], uint id [[thread_position_in_grid]]) {
    out[id] = remainders(int(id), 0, shape, count);
}

kernel void above_two(device int* out [[buffer(0)]], constant int* shape [[buffer(1)]],
                      constant int& count [[buffer(2)]], uint id [[thread_position_in_grid]]) {
    out[id] = remainders(int(id), 2, shape, count);
}

kernel void place(device int* out [[buffer(0)]], constant int* shape [[buffer(1)]],
                  constant int& count [[buffer(2)]], constant int* strides [[buffer(3)]],
                  uint id [[thread_position_in_grid]]) {
    int rest = int(id);
    int at = 0;
    for (int axis = count - 1; axis >= 0 && rest > 0; --axis) {
        at += (rest % shape[axis]) * strides[axis];
        rest /= shape[axis];
    }
    out[id] = at;
}
