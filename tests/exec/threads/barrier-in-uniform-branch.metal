// A barrier in a branch that the whole threadgroup takes, and values kept across it.
//! covers: MSL 6.9.1
//! kernel: maybe
//! groups: 2
//! group: 40
//! arg 0: i32 0*80
//! expect 0: i32 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46 48 50 52 54 56 58 60 62 64 66 68 70 72 74 76 78

#include <metal_stdlib>
using namespace metal;

kernel void maybe(device int* out, uint i [[thread_index_in_threadgroup]],
                  uint group [[threadgroup_position_in_grid]]) {
    threadgroup int shared[40];
    int kept = int(i) * 2;
    int result = 0;
    if (group == 0) {
        shared[i] = int(i);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        result = shared[39 - i];
    }
    out[group * 40 + i] = result + kept;
}
