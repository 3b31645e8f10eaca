// A plain write of zero while another threadgroup adds atomically.
// launch: --threads 64 --group 32 --arg count=zeros:u32:1
#include <metal_stdlib>
using namespace metal;

kernel void mixed(device atomic_uint *count [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    if (gid == 0) {
        *reinterpret_cast<device uint *>(count) = 5; //~ race-grid 1
    }
    if (gid == 32) {
        atomic_fetch_add_explicit(count, 1, memory_order_relaxed); //~ race-grid 2
    }
}
