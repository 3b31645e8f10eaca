// Accesses out of bounds in a function that is called: loads give zero, stores are dropped, and the launch fails.
//! kernel: reads_all
//! threads: 40
//! group: 40
//! arg 0: u32 0*40
//! expect 0: u32 1313939581 4103532544 108827396 4081935360 1402283008 1402283008 1313939581 4103532544 108827396 4081935360 1402283008 1402283008 1313939581 4103532544 108827396 4081935360 1402283008 1402283008 1313939581 4103532544 108827396 4081935360 1402283008 1402283008 1313939581 4103532544 108827396 4081935360 1402283008 1402283008 1313939581 4103532544 108827396 4081935360 1402283008 1402283008 1313939581 4103532544 108827396 4081935360
//! faults: yes

#include <metal_stdlib>
using namespace metal;

#define TWICE(x) x x
#define TIMES_16(x) TWICE(TWICE(TWICE(TWICE(x))))
#define TIMES_256(x) TIMES_16(TIMES_16(x))

uint reads(thread uint* values, uint index, uint acc, uint last) {
    for (uint i = 0; i < last; ++i) {
        acc = acc * 3 + values[index] + i;
        values[i] += acc;
    }
    return acc;
}

uint all_reads(uint t, uint acc) {
    uint values[4] = {5, 6, 7, 8};
    return reads(values, t % 6, acc, 8);
}

kernel void reads_all(device uint* results, uint t [[thread_position_in_grid]]) {
    uint acc = 0;
    TIMES_256(acc = all_reads(t, acc);)
    results[t] = acc;
}
