// Memory that is coherent on the device: the threadgroup that ends last adds up what all have stored.
//! covers: MSL 4.8
//! oracle: exact
//! kernel: total
//! threads: 256
//! group: 32
//! arg 0: u32 0..256
//! arg 1: u32 0*8
//! arg 2: u32 0
//! arg 3: u32 0*2
//! expect 1: u32 496 1520 2544 3568 4592 5616 6640 7664
//! expect 2: u32 8
//! expect 3: u32 32640 8
//! kernel: texels
//! threads: 4
//! group: 4
//! texture 0: r32uint 4,1 u32 7 8 9 10
//! arg 0: u32 0*8
//! expect 0: u32 7 8 9 10 14 16 18 20

#include <metal_stdlib>
using namespace metal;

static uint sum_of(coherent device const uint* partial, uint count) {
    uint sum = 0;
    for (uint n = 0; n < count; n++) sum += partial[n];
    return sum;
}

kernel void total(device const uint* in [[buffer(0)]], coherent(device) device uint* partial [[buffer(1)]],
                  device atomic_uint* done [[buffer(2)]], device uint* out [[buffer(3)]],
                  uint i [[thread_position_in_grid]], uint lane [[thread_index_in_threadgroup]],
                  uint group [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]]) {
    uint sum = simd_sum(in[i]);
    if (lane != 0) return;
    partial[group] = sum;
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    if (atomic_fetch_add_explicit(done, 1u, memory_order_relaxed) != groups - 1) return;
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    out[0] = sum_of(partial, groups);
    out[1] = groups;
}

kernel void texels(texture2d<uint, access::read_write, memory_coherence_device> t [[texture(0)]],
                   device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint seen = t.read(uint2(i, 0)).x;
    out[i] = seen;
    t.write(uint4(2 * seen), uint2(i, 0));
    t.fence();
    out[4 + i] = t.read(uint2(i, 0)).x;
}
