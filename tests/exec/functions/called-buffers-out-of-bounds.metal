// Accesses out of bounds of buffers in functions that are called: loads give zero, stores are dropped, what is before a
// buffer that is bound at an offset is no fault, and the launch fails.
//! bounds: buffer
//! faults: yes
//! threads: 40
//! group: 40
//! arg 0: u32 0*40
//! arg 1: u32 1..31
//! offset 1: 40
//! arg 2: u32 0*20
//! kernel: outside
//! expect 0: u32 0*17 3065291480 3646002088 0*21

#include <metal_stdlib>
using namespace metal;

#define TWICE(x) x x
#define TIMES_16(x) TWICE(TWICE(TWICE(TWICE(x))))

struct Four {
    uint4 words;
};

uint outside_of(const device int* values, device uint* stored, device Four* fours, int at, uint acc) {
    for (int i = 0; i < 4; ++i) {
        TIMES_16({
            acc = acc * 3 + values[at - 12 + i * 8] + values[22];
            stored[at + i] = acc;
            if (acc % 4 == uint(i)) {
                Four four = fours[at / 2];
                acc += four.words.x + four.words.w * 5;
                four.words.y = acc;
                fours[at / 2] = four;
            }
        })
    }
    return acc;
}

kernel void outside(device uint* results [[buffer(0)]], const device int* values [[buffer(1)]],
                    device uint* stored [[buffer(2)]], uint t [[thread_position_in_grid]]) {
    uint acc = t;
    int round = 0;
    // Of threads that store to one place the last one of a SIMD-group counts: one thread stores.
    if (t == 17) {
        TWICE(TIMES_16({
            acc = outside_of(values, stored, reinterpret_cast<device Four*>(stored), round % 21, acc);
            ++round;
        }))
        results[t] = acc;
        for (uint i = 0; i < 20; ++i) {
            acc = acc * 31 + stored[i];
        }
        results[t + 1] = acc;
    }
}
