// One threadgroup adds atomically, the other reads the same word plainly.
// launch: --threads 64 --group 32 --arg count=zeros:u32:1 --arg out=zeros:u32:64
#include <metal_stdlib>
using namespace metal;

kernel void mixed(device atomic_uint *count [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]],
                  uint lid [[thread_position_in_threadgroup]]) {
    if (gid == 0) {
        atomic_fetch_add_explicit(count, 1, memory_order_relaxed); //~ race-grid 1
    }
    if (gid == 32) {
        out[gid] = *reinterpret_cast<device uint *>(count); //~ race-grid 2
    }
}
