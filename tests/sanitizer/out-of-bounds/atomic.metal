// An atomic addition to a bin that the histogram does not have.
// launch: --threads 8 --group 8 --arg bins=zeros:u32:4
#include <metal_stdlib>
using namespace metal;

kernel void count_up(device atomic_uint *bins [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&bins[gid], 1, memory_order_relaxed); //~ out-of-bounds
}
