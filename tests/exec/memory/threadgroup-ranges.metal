// Threadgroup arrays as long as the threadgroup are indexed by positions in it, and one element further.
//! covers: MSL 4.4
//! threads: 64
//! group: 64
//! kernel: inside
//! arg 0: u32 0*64
//! expect 0: u32 63 62 61 60
//! kernel: behind
//! faults: yes
//! arg 0: u32 0*64
//! expect 0: u32 1..64 0
//! kernel: before
//! faults: yes
//! arg 0: u32 0*64
//! expect 0: u32 0 0..63
//! kernel: matrices
//! arg 0: f32 0*128
//! expect 0: f32 3*128
//! kernel: matrices_behind
//! faults: yes
//! arg 0: f32 0*128
//! expect 0: f32 3*126 0 0

#include <metal_stdlib>
using namespace metal;

kernel void inside(device uint* out, uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint tile[64];
    tile[i] = i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[63 - i];
}

kernel void behind(device uint* out, uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint tile[64];
    tile[i] = i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[i + 1];
}

kernel void before(device uint* out, uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint tile[64];
    tile[i] = i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[int(i) - 1];
}

// Each SIMD-group has a matrix; the threadgroup's array is of 128 elements.
kernel void matrices(device float* out, uint i [[thread_index_in_threadgroup]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float tile[128];
    tile[i] = 3;
    tile[i + 64] = 3;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 matrix;
    simdgroup_load(matrix, tile + simdgroup * 64, 8);
    simdgroup_store(matrix, out + simdgroup * 64, 8);
}

kernel void matrices_behind(device float* out, uint i [[thread_index_in_threadgroup]],
                            uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float tile[126];
    tile[i] = 3;
    if (i < 62) tile[i + 64] = 3;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 matrix;
    simdgroup_load(matrix, tile + simdgroup * 64, 8);
    simdgroup_store(matrix, out + simdgroup * 64, 8);
}
