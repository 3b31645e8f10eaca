// A function with a result that is called with a pointer into an array, at an index that differs between threads.
//! covers: C++ expr.call
//! oracle: clang
//! kernel: places
//! threads: 40
//! group: 40
//! arg 0: u32 0*40
//! expect 0: u32 642892224 3535591383 147574974 1795781600 3872664082 3084984165 1249478194 1248174333 1202379000 4005064749 4247809950 3408283678 3923769484 573628023 1991840412 757987261 4078163668 3013183869 2357157296 3206256816 2443762956 2414523707 3817516594 1620793941 281758152 2311717294 2610360338 113090565 1542408884 2088608332 3607738310 3257755961 1463497808 3598455583 3044588440 1929138024 954218604 1511294821 2347409650 2869328297

#include <metal_stdlib>
using namespace metal;

#define TWICE(x) x x
#define TIMES_16(x) TWICE(TWICE(TWICE(TWICE(x))))

uint sum(thread uint* values, uint acc, uint last) {
    for (uint i = 0; i < last; ++i) {
        TIMES_16(acc = acc * 5 + values[i] * 3 + (values[(i + acc) % 4] ^ i);)
        values[i] ^= acc;
    }
    return acc;
}

kernel void places(device uint* results, uint t [[thread_position_in_grid]]) {
    uint values[8] = {t, 2, 3, 5, 7, 11, 13, 17};
    uint acc = t;
    TIMES_16(TWICE(TWICE(acc += sum(values + t % 5, acc, 4); acc ^= sum(values + acc % 3, t, 2 + acc % 3);)))
    results[t] = acc;
}
