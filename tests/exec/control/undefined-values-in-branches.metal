// What was never written, a variable or a structure's padding, stored where only some threads are: the others keep their values.
//! oracle: clang
//! kernel: stored
//! threads: 4
//! group: 4
//! arg 0: i32 0 5 1 9
//! expect 0: i32 7 1 7 1
//! kernel: looped
//! threads: 4
//! group: 4
//! arg 0: i32 0 5 1 9
//! expect 0: i32 3 1 3 1
//! kernel: padded
//! threads: 4
//! group: 4
//! arg 0: i32 0 5 1 9
//! expect 0: i32 8765 4326 8765 4326

#include <metal_stdlib>
using namespace metal;

kernel void stored(device int* out, uint i [[thread_position_in_grid]])
{
    int never;
    int y = 7;
    if (out[i] > 1) {
        y = never;
    }
    out[i] = out[i] > 1 ? 1 : y;
}

kernel void looped(device int* out, uint i [[thread_position_in_grid]])
{
    int never;
    int sum = 0;
    for (int n = 0; n < 3; ++n) {
        sum += 1;
        if (out[i] > 1) {
            sum = never;
            break;
        }
    }
    out[i] = out[i] > 1 ? 1 : sum;
}

struct Padded { short a; int b; short c; int d; };
struct State {
    int counter = 0;
    Padded kept = {5, 6, 7, 8};
    thread int* at = &counter;
    void copies(int limit) {
        Padded s = {1, 2, 3, 4};
        thread Padded* same = &s;
        for (counter = 1; counter <= limit; counter += 1) {
            *same = s;
        }
        kept = s;
    }
};
kernel void padded(device int* out, uint i [[thread_position_in_grid]])
{
    State state;
    if (out[i] > 1) {
        state.copies(4);
    }
    out[i] = state.kept.a + state.kept.b * 10 + state.kept.c * 100 + state.kept.d * 1000 + *state.at;
}
