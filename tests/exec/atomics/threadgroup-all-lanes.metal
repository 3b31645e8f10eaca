// All lanes update counters of the threadgroup, several the same one.
//! covers: MSL 2.6, MSL 6.15
//! threads: 64
//! group: 64
//! kernel: integers
//! arg 0: i32 0*28
//! expect 0: i32 22829 19810 20786 21919 49 39 50 40 -50 -47 -38 -48 435 318 354 495 -51 -45 -48 -48 -621432998 -346114581 -1117006147 -676496683 8191 4095 8191 8191
//! kernel: floats
//! arg 0: f32 0*4
//! expect 0: f32 263.5 240.0 248.0 256.5
//! kernel: outside
//! arg 0: i32 0*4
//! faults: yes
//! expect 0: i32 11 11 11 11
#include <metal_stdlib>
using namespace metal;

kernel void integers(device int* out [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup atomic_int bins[28];
    if (i < 28) {
        int start = i >= 4 && i < 8 ? INT_MIN : i >= 8 && i < 12 ? INT_MAX : i >= 20 && i < 24 ? -1 : 0;
        atomic_store_explicit(&bins[i], start, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint bin = i * 7 / 3 % 4;
    int value = int(i * 37 % 101) - 50;
    atomic_fetch_add_explicit(&bins[bin], int(i * i), memory_order_relaxed);
    atomic_fetch_max_explicit(&bins[4 + bin], value, memory_order_relaxed);
    atomic_fetch_min_explicit(&bins[8 + bin], value, memory_order_relaxed);
    atomic_fetch_xor_explicit(&bins[12 + bin], int(i * 5), memory_order_relaxed);
    atomic_fetch_sub_explicit(&bins[16 + bin], 3, memory_order_relaxed);
    atomic_fetch_and_explicit(&bins[20 + bin], ~(1 << (i % 31)), memory_order_relaxed);
    atomic_fetch_or_explicit(&bins[24 + bin], 1 << (i % 13), memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < 28) {
        out[i] = atomic_load_explicit(&bins[i], memory_order_relaxed);
    }
}

// Metal has `atomic_float` in device memory only: the bits are exchanged.
kernel void floats(device float* out [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint bins[4];
    if (i < 4) {
        atomic_store_explicit(&bins[i], as_type<uint>(0.0f), memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup atomic_uint& bin = bins[i * 7 / 3 % 4];
    uint old = atomic_load_explicit(&bin, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&bin, &old, as_type<uint>(as_type<float>(old) + i * 0.5f),
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < 4) {
        out[i] = as_type<float>(atomic_load_explicit(&bins[i], memory_order_relaxed));
    }
}

// Bins 4 and 5 do not exist.
kernel void outside(device int* out [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup atomic_int bins[4];
    if (i < 4) {
        atomic_store_explicit(&bins[i], 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&bins[i % 6], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < 4) {
        out[i] = atomic_load_explicit(&bins[i], memory_order_relaxed);
    }
}
