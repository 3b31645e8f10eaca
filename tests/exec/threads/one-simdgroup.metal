// Threadgroups that are one SIMD-group or less: barriers only order memory.
//! oracle: exact
//! covers: MSL 6.9.1

//! kernel: reverse
//! groups: 2
//! group: 16
//! arg 0: u32 0*32
//! expect 0: u32 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0 31 30 29 28 27 26 25 24 23 22 21 20 19 18 17 16

//! kernel: wavefront
//! groups: 1
//! group: 16
//! arg 0: u32 0*16
//! expect 0: u32 1 2 4 8 16 32 64 128 256 512 1024 2048 4096 8192 16384 32768

//! kernel: tree
//! groups: 1
//! group: 32
//! arg 0: u32 0
//! arg 1: u32 0..32
//! expect 0: u32 496

//! kernel: tree
//! threads: 40
//! group: 32
//! arg 0: u32 0 0
//! arg 1: u32 0..40
//! expect 0: u32 496 284

//! kernel: through_device_memory
//! groups: 1
//! group: 8,2
//! arg 0: u32 0*16
//! arg 1: u32 5
//! expect 0: u32 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3 4

//! kernel: returns_early
//! groups: 1
//! group: 32
//! arg 0: u32 7*32
//! expect 0: u32 1 0 3 2 5 4 7 6 9 8 7*22

#include <metal_stdlib>
using namespace metal;

kernel void reverse(device uint* out, uint i [[thread_index_in_threadgroup]], uint g [[thread_position_in_grid]],
                    uint n [[threads_per_threadgroup]])
{
    threadgroup uint x[32];
    x[i] = g;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[g] = x[n - 1 - i];
}

// Each step reads what other threads wrote in the step before.
kernel void wavefront(device uint* out, uint i [[thread_index_in_threadgroup]])
{
    threadgroup uint row[16];
    row[i] = i == 0;
    for (uint step = 0; step < 15; ++step) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint before = i > 0 ? row[i - 1] : 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (step + 1 == i)
            row[i] = before * 2;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = row[i];
}

kernel void tree(device uint* out, device const uint* in, uint i [[thread_index_in_threadgroup]],
                 uint g [[thread_position_in_grid]], uint n [[threads_per_threadgroup]],
                 uint group [[threadgroup_position_in_grid]])
{
    threadgroup uint x[32];
    x[i] = in[g];
    for (uint half_size = n / 2; half_size > 0; half_size /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i < half_size)
            x[i] += x[i + half_size];
    }
    if (i == 0)
        out[group] = x[0];
}

kernel void through_device_memory(device uint* x, constant uint& by, uint i [[thread_index_in_threadgroup]])
{
    x[i] = i;
    threadgroup_barrier(mem_flags::mem_device);
    uint other = x[(i + by) % 16];
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = other;
}

kernel void returns_early(device uint* x, uint i [[thread_index_in_threadgroup]])
{
    threadgroup uint shared[32];
    shared[i] = i;
    if (i >= 10)
        return;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = shared[i ^ 1];
}
