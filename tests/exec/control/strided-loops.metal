// Loops over a range with a stride of all threads: whole rounds, a last partial one, and none.
//! covers: C++ stmt.for
//! group: 64
//! arg 0: u32 0..200
//! arg 1: u32 0*200
//! kernel: rounds
//! threads: 64
//! arg 2: u32 200
//! expect 1: u32 1..201
//! kernel: rounds
//! threads: 64
//! arg 2: u32 3
//! expect 1: u32 1 2 3 0*197
//! kernel: rounds
//! threads: 50
//! arg 2: u32 128
//! expect 1: u32 1..129 0*72
//! kernel: backwards
//! threads: 64
//! arg 2: i32 199
//! expect 1: u32 0..200
//! kernel: leaving
//! threads: 64
//! arg 2: u32 200
//! expect 1: u32 0..150 0*50
//! kernel: skipping
//! threads: 64
//! arg 2: u32 200
//! expect 1: u32 (0 2) *100
//! kernel: nested
//! threads: 64
//! arg 2: u32 100
//! expect 1: u32 300*64 200*36 0*100
//! kernel: wrapping
//! threads: 64
//! arg 2: u32 0xffffffd0
//! expect 1: u32 1*16 0*184

#include <metal_stdlib>
using namespace metal;

kernel void rounds(device const uint* in, device uint* out, constant uint& n, uint t [[thread_index_in_threadgroup]],
                   uint width [[threads_per_threadgroup]]) {
    for (uint i = t; i < n; i += width) out[i] = in[i] + 1;
}

kernel void backwards(device const uint* in, device uint* out, constant int& last,
                      uint t [[thread_index_in_threadgroup]]) {
    for (int i = last - int(t); 0 <= i; i -= 64) out[i] = in[i];
}

// Lanes leave in the middle too.
kernel void leaving(device const uint* in, device uint* out, constant uint& n,
                    uint t [[thread_index_in_threadgroup]]) {
    for (uint i = t; i < n; i += 64) {
        if (in[i] >= 150) break;
        out[i] = in[i];
    }
}

kernel void skipping(device const uint* in, device uint* out, constant uint& n,
                     uint t [[thread_index_in_threadgroup]]) {
    for (uint i = t; i < n; i += 64) {
        if (in[i] % 2 == 0) continue;
        out[i] = 2;
    }
}

kernel void nested(device const uint* in, device uint* out, constant uint& n,
                   uint t [[thread_index_in_threadgroup]]) {
    for (uint i = t; i < n; i += 64) {
        uint sum = i < 64 ? 100 : 0;
        for (uint k = t; k < n; k += 32) {
            if (k >= i % 64 + 64) break;
            sum += 100;
        }
        out[i] = sum;
    }
}

// The counter of the last lanes wraps to small numbers.
kernel void wrapping(device const uint* in, device uint* out, constant uint& first,
                     uint t [[thread_index_in_threadgroup]]) {
    for (uint i = first + t; i < 16; i += 64) out[i] = in[i] + 1 - i;
}
