// Cases, a default in the middle, several labels on one case, a switch without a match.
//! covers: C++ stmt.switch
//! oracle: clang
//! kernel: choose
//! threads: 8
//! group: 8
//! arg 0: i32 0*8
//! expect 0: i32 10 21 21 33 -1 55 -1 33

#include <metal_stdlib>
using namespace metal;

kernel void choose(device int* out, uint i [[thread_position_in_grid]]) {
    const int selectors[8] = {0, 1, 2, 3, 4, 5, 100, -7};
    int result = 0;
    switch (selectors[i]) {
        case 0: result = 10; break;
        case 1:
        case 2: result = 21; break;
        default: result = -1; break;
        case -7:
        case 3: { int local = 30; result = local + 3; break; }
        case 5: result = 55;
    }
    switch (result) { case 1000: result = 7; }
    out[i] = result;
}
