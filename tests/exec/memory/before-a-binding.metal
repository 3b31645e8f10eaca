// A kernel may access the bytes of a buffer before the offset at which it is bound.
//! bounds: buffer
//! group: 32
//! arg 0: u32 0..64
//! offset 0: 128
//! arg 1: u32 0*64
//! arg 2: i32 -3
//! kernel: uniform
//! threads: 33
//! expect 1: u32 60*33
//! kernel: reversed
//! threads: 33
//! expect 1: u32 32..-1..-1
//! kernel: contiguous
//! threads: 48
//! expect 1: u32 16..64
//! kernel: strided
//! threads: 16
//! expect 1: u32 0..32..2
//! kernel: gathered
//! threads: 32
//! arg 3: i32 (-32 0 -5 31)*8
//! expect 1: u32 (0 32 27 63)*8
//! kernel: vectors
//! threads: 9
//! expect 1: u32 32..36 28..32 24..28 20..24 16..20 12..16 8..12 4..8 0..4
//! kernel: structs
//! threads: 9
//! expect 1: u32 32..36 28..32 24..28 20..24 16..20 12..16 8..12 4..8 0..4
//! kernel: bytes
//! threads: 4
//! expect 1: u32 0 0 0 31
//! kernel: store_uniform
//! threads: 1
//! arg 3: same 0
//! expect 1: u32 42
//! kernel: store_reversed
//! threads: 32
//! arg 3: same 0
//! expect 1: u32 100..132
//! kernel: store_contiguous
//! threads: 32
//! arg 3: same 0
//! expect 1: u32 200..232
//! kernel: store_scattered
//! threads: 32
//! arg 3: same 0
//! expect 1: u32 300..332
//! kernel: count
//! threads: 32
//! arg 3: same 0
//! expect 1: u32 63*32
//! kernel: exchange
//! threads: 32
//! expect 1: u32 31..-1..-1
//! kernel: add
//! threads: 32
//! arg 3: same 0
//! expect 1: u32 36..4..-1
//! kernel: one_of_two
//! threads: 32
//! arg 3: u32 1000..1032
//! offset 3: 64
//! expect 1: u32 1015 31 1014 30 1013 29 1012 28 1011 27 1010 26 1009 25 1008 24 1007 23 1006 22 1005 21 1004 20 1003 19 1002 18 1001 17 1000 16
//! kernel: one_for_all
//! threads: 4
//! arg 3: u32 1000..1032
//! offset 3: 64
//! expect 1: u32 1015 1014 1013 1012
//! kernel: matrix
//! threads: 32
//! arg 4: f32 0..128
//! offset 4: 256
//! arg 5: f32 0*128
//! offset 5: 256
//! arg 6: same 5
//! expect 1: u32 0..64
//! kernel: before_the_buffer
//! threads: 4
//! expect 1: u32 1 0 0 0
//! faults: yes
//! kernel: behind_the_buffer
//! threads: 4
//! expect 1: u32 62 63 0 0
//! faults: yes
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

struct Four { uint a, b, c, d; };

kernel void uniform(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                    constant int &n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    out[i] = x[-1] + x[n];
}

kernel void reversed(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    out[i] = x[-int(i)];
}

kernel void contiguous(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) {
    out[i] = x[int(i) - 16];
}

kernel void strided(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    out[i] = x[2 * int(i) - 32];
}

kernel void gathered(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                     device const int *at [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    out[i] = x[at[i]];
}

kernel void vectors(device const uint4 *x [[buffer(0)]], device uint4 *out [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    out[i] = x[-int(i)];
}

kernel void structs(device const Four *x [[buffer(0)]], device Four *out [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    out[i] = x[-int(i)];
}

kernel void bytes(device const uchar *x [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
    out[i] = x[-1 - int(i)];
}

kernel void store_uniform(device uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                          constant int &n [[buffer(2)]], device const uint *y [[buffer(3)]]) {
    x[n] = 42;
    out[0] = y[n];
}

kernel void store_reversed(device uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                           device const uint *y [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    x[-1 - int(i)] = 100 + i;
    threadgroup_barrier(mem_flags::mem_device);
    out[i ^ 1] = y[-1 - int(i ^ 1)];
}

kernel void store_contiguous(device uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                             device const uint *y [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    x[int(i) - 32] = 200 + i;
    threadgroup_barrier(mem_flags::mem_device);
    out[i ^ 1] = y[int(i ^ 1) - 32];
}

kernel void store_scattered(device uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                            device const uint *y [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    int own = -1 - int(i * 7 % 32);
    x[own] = 300 + i;
    out[i] = y[own];
}

kernel void count(device atomic_uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                  constant int &n [[buffer(2)]], device const uint *y [[buffer(3)]],
                  uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(x + (n + 2), 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_device);
    out[i] = y[n + 2];
}

kernel void exchange(device atomic_uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    out[i] = atomic_exchange_explicit(x - 1 - int(i), 7u, memory_order_relaxed);
}

kernel void add(device atomic_uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                device const uint *y [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(x - 1 - int(i), 5u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_device);
    out[i] = y[-1 - int(i)];
}

kernel void one_of_two(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                       device const uint *z [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    device const uint *from = (i & 1) != 0 ? x : z;
    out[i] = from[-1 - int(i / 2)];
}

kernel void one_for_all(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                        constant int &n [[buffer(2)]], device const uint *z [[buffer(3)]],
                        uint i [[thread_position_in_grid]]) {
    device const uint *from = n > 0 ? x : z;
    out[i] = from[-1 - int(i)];
}

kernel void matrix(device uint *out [[buffer(1)]], device const float *x [[buffer(4)]],
                   device float *y [[buffer(5)]], device const float *z [[buffer(6)]],
                   uint i [[thread_position_in_grid]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, x - 64, 8);
    simdgroup_store(m, y - 64, 8);
    threadgroup_barrier(mem_flags::mem_device);
    for (uint k = i; k < 64; k += 32) out[k] = uint(z[int(k) - 64]);
}

kernel void before_the_buffer(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                              uint i [[thread_position_in_grid]]) {
    out[i] = x[-31 - int(i)];
}

kernel void behind_the_buffer(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                              uint i [[thread_position_in_grid]]) {
    out[i] = x[30 + i];
}
