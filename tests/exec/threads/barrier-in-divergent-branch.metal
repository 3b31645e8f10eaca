// A barrier that the first thread of each SIMD-group reaches. The specification wants all threads there, but SIMD-groups
// arrive as a whole, and MLX's matrix-vector kernels rely on it.
//! covers: MSL 6.9.1
//! kernel: first_threads
//! groups: 1
//! group: 128
//! barriers: divergent
//! arg 0: u32 0*4
//! expect 0: u32 10 0 0 0

#include <metal_stdlib>
using namespace metal;

kernel void first_threads(
    device uint* out,
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]
) {
    threadgroup uint shared[4];
    if (lane == 0) {
        shared[simdgroup] = simdgroup + 1 + lane;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (simdgroup == 0) {
            out[0] = shared[0] + shared[1] + shared[2] + shared[3];
        }
    }
}
