// Accesses whose bounds could be told for all threads of a threadgroup at once: at the edges, where arithmetic wraps around, and one too far.
//! threads: 70
//! group: 32
//! kernel: wrapping
//! arg 0: u32 0*2
//! arg 1: u32 65536
//! expect 0: u32 70 0
//! kernel: before
//! arg 0: u32 1..71
//! arg 1: u32 1
//! expect 0: u32 11 12 13
//! kernel: before
//! arg 0: u32 1..71
//! arg 1: u32 0
//! faults: yes
//! expect 0: u32 11 12 13
//! kernel: signed_loop
//! arg 0: u32 1..21
//! arg 1: i32 18
//! arg 2: u32 0*70
//! expect 2: u32 210*70
//! kernel: signed_loop
//! arg 0: u32 1..21
//! arg 1: i32 19
//! arg 2: u32 0*70
//! faults: yes
//! expect 2: u32 210*70
//! kernel: gathered
//! arg 0: i32 (-5 3 2147483647 -2147483648 2 0 7)*10
//! arg 1: u32 10..14
//! arg 2: i32 4
//! arg 3: u32 0*70
//! expect 3: u32 (10 13 13 10 12 10 13)*10
//! kernel: wide_loop
//! arg 0: u32 1..11
//! arg 1: u64 10
//! arg 2: u32 0*70
//! expect 2: u32 55*70
//! kernel: wide_loop
//! arg 0: u32 1..11
//! arg 1: u64 11
//! arg 2: u32 0*70
//! faults: yes
//! expect 2: u32 55*70
//! kernel: neighbour
//! arg 0: u32 0..70
//! arg 1: u32 70
//! arg 2: u32 0*70
//! expect 2: u32 1..70 0
//! kernel: neighbour
//! arg 0: u32 0..70
//! arg 1: u32 71
//! arg 2: u32 0*70
//! faults: yes
//! expect 2: u32 1..70 0
//! kernel: rows
//! arg 0: f32 0..64
//! arg 1: u32 5
//! arg 2: f32 0*8
//! expect 2: f32 6 26 46 66 86 106 126 146
//! kernel: rows
//! arg 0: f32 0..64
//! arg 1: u32 8
//! arg 2: f32 0*8
//! expect 2: f32 6 38 70 102 134 166 198 230
//! kernel: rows
//! arg 0: f32 0..59
//! arg 1: u32 8
//! arg 2: f32 0*8
//! faults: yes
//! expect 2: f32 6 38 70 102 134 166 198 0
#include <metal_stdlib>
using namespace metal;

// The product is 0 in 32 bits, and far beyond the buffer in more.
kernel void wrapping(device atomic_uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&out[i * n * n], 1, memory_order_relaxed);
}

kernel void before(device uint* x [[buffer(0)]], constant uint& first [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    if (i >= first) x[i - 1] += 10;
}

kernel void signed_loop(device const uint* x [[buffer(0)]], constant int& end [[buffer(1)]], device uint* out [[buffer(2)]],
                        uint i [[thread_position_in_grid]]) {
    uint sum = 0;
    for (int j = -2; j < end; j++) sum += x[j + 2];
    out[i] = sum;
}

kernel void gathered(device const int* at [[buffer(0)]], device const uint* x [[buffer(1)]], constant int& n [[buffer(2)]],
                     device uint* out [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    out[i] = x[clamp(at[i], 0, n - 1)];
}

kernel void wide_loop(device const uint* x [[buffer(0)]], constant ulong& n [[buffer(1)]], device uint* out [[buffer(2)]],
                      uint i [[thread_position_in_grid]]) {
    uint sum = 0;
    for (ulong j = 0; j < n; j++) sum += x[j];
    out[i] = sum;
}

kernel void neighbour(device const uint* x [[buffer(0)]], constant uint& n [[buffer(1)]], device uint* out [[buffer(2)]],
                      uint i [[thread_position_in_grid]]) {
    if (i + 1 < n) out[i] = x[i + 1];
}

kernel void rows(device const float* x [[buffer(0)]], constant uint& n [[buffer(1)]], device float* out [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    if (i < 8) {
        float4 row = *(device const float4*)(x + i * n);
        out[i] = row.x + row.y + row.z + row.w;
    }
}
