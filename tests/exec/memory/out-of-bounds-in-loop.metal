// A loop runs past the end of its buffers: what is inside is done, the rest is dropped or reads zero.
//! faults: yes
//! kernel: shift
//! threads: 64
//! group: 64
//! arg 0: u32 1..151
//! arg 1: u32 0*200
//! arg 2: u32 200
//! expect 1: u32 1..151 0*50
//! kernel: shift
//! threads: 64
//! group: 64
//! arg 0: u32 1..201
//! arg 1: u32 0*70
//! arg 2: u32 200
//! expect 1: u32 1..71
//! kernel: twice
//! threads: 64
//! group: 64
//! arg 0: u32 1..201
//! arg 1: u32 0*100
//! arg 2: u32 200
//! expect 0: u32 2..102 101..201
//! expect 1: u32 1..101

#include <metal_stdlib>
using namespace metal;

kernel void shift(device const uint* in, device uint* out, constant uint& n, uint t [[thread_index_in_threadgroup]]) {
    for (uint i = t; i < n; i += 64) out[i] = in[i];
}

// The fault comes after a store of the same round, which must not happen twice.
kernel void twice(device uint* in, device uint* out, constant uint& n, uint t [[thread_index_in_threadgroup]]) {
    for (uint i = t; i < n; i += 64) {
        uint value = in[i];
        if (i < 100) in[i] = value + 1;
        out[i] = value;
    }
}
