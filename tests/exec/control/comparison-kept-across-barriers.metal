// A comparison with a value that was read after a barrier is used behind further ones.
//! kernel: guarded
//! threads: 96
//! group: 64
//! arg 0: u32 0 90
//! arg 1: u32 7*64 7*32
//! arg 2: u32 0*96
//! expect 2: u32 8*90 0*6

#include <metal_stdlib>
using namespace metal;

kernel void guarded(device uint* counts [[buffer(0)]], device uint* in [[buffer(1)]], device uint* out [[buffer(2)]],
                    uint at [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]])
{
    threadgroup uint stop;
    threadgroup uint sums[64];
    if (l == 0) stop = counts[0];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (stop != 0) return;
    uint n = counts[1];
    bool inside = at < n;
    uint sum = inside ? in[at] : 0;
    sums[l] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = max(sum, sums[l / 2]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (inside) out[at] = sum + 1;
}
