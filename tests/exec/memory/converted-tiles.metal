// Rows that threads convert on their way to threadgroup memory and back: as vectors and element by element. Some threads' rows,
// or some vectors of one thread's, may be out of bounds, or some threads take no part; lanes that lie side by side may wrap or reach a limit.
//! group: 32
//! groups: 1
//! kernel: vectors
//! arg 0: f32 0..256
//! arg 1: f16 0*256
//! expect 1: f16 0..256
//! kernel: elements
//! arg 0: f16 0..256
//! arg 1: f32 0*256
//! expect 1: f32 0..256
//! kernel: few
//! arg 0: f32 0..256
//! arg 1: f16 0*256
//! expect 1: f16 0..168 0*88
//! kernel: vectors
//! arg 0: f32 0..206
//! arg 1: f16 0*256
//! faults: yes
//! expect 1: f16 0..204 0*52
//! kernel: elements
//! arg 0: f16 0..206
//! arg 1: f32 0*256
//! faults: yes
//! expect 1: f32 0..206 0*50
//! kernel: elements
//! arg 0: f16 0..256
//! arg 1: f32 0*206
//! faults: yes
//! expect 1: f32 0..206
//! kernel: shifted
//! arg 0: f16 0..256
//! arg 1: f32 0*128
//! arg 2: u32 11
//! expect 1: f32 44..172
//! kernel: shifted
//! arg 0: f16 0..128
//! arg 1: f32 0*128
//! arg 2: u32 4294967280
//! faults: yes
//! expect 1: f32 0*64 0..64
//! kernel: clamped
//! arg 0: f16 0..84
//! arg 1: f32 0*128
//! arg 2: u32 0
//! expect 1: f32 0..84 80..84 80..84 80..84 80..84 80..84 80..84 80..84 80..84 80..84 80..84 80..84
//! kernel: clamped
//! arg 0: f16 0..82
//! arg 1: f32 0*128
//! arg 2: u32 4294967280
//! faults: yes
//! expect 1: f32 0*64 0..64

#include <metal_stdlib>
using namespace metal;

constant constexpr ushort PER_THREAD = 8;
constant constexpr ushort THREADS = 32;

kernel void vectors(device const float4* in, device half* out, ushort tid [[thread_position_in_threadgroup]]) {
    threadgroup half tile[2 * PER_THREAD * THREADS];
    threadgroup half4* to = (threadgroup half4*)(tile + 2 * tid * PER_THREAD);
    float4 low = in[2 * tid], high = in[2 * tid + 1];
    to[0] = half4(low);
    to[1] = half4(high);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (ushort i = 0; i < PER_THREAD; i++) {
        ushort n = i * THREADS + tid;
        out[n] = tile[n / PER_THREAD * 2 * PER_THREAD + n % PER_THREAD];
    }
}

kernel void elements(device const half* in, device float* out, ushort tid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[PER_THREAD * THREADS];
    for (ushort i = 0; i < PER_THREAD; i++) {
        tile[tid * PER_THREAD + i] = float(in[tid * PER_THREAD + i]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (ushort i = 0; i < PER_THREAD; i++) {
        out[i * THREADS + tid] = tile[i * THREADS + tid];
    }
}

kernel void few(device const float4* in, device half4* out, ushort tid [[thread_position_in_threadgroup]]) {
    threadgroup half4 tile[2 * THREADS];
    tile[2 * tid] = half4(0.0h);
    tile[2 * tid + 1] = half4(0.0h);
    if (tid < 21) {
        tile[2 * tid] = half4(in[2 * tid]);
        tile[2 * tid + 1] = half4(in[2 * tid + 1]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[tid] = tile[tid];
    out[THREADS + tid] = tile[THREADS + tid];
}

kernel void shifted(device const half4* in, device float4* out, constant uint& first, uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float4 tile[THREADS];
    tile[tid] = float4(in[first + tid]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[tid] = tile[tid];
}

kernel void clamped(device const half4* in, device float4* out, constant uint& first, uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float4 tile[THREADS];
    tile[tid] = float4(in[min(first + tid, 20u)]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[tid] = tile[tid];
}
