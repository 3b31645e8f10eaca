// The counter is atomic: no race, whatever the order.
// launch: --threads 128 --group 32 --arg count=zeros:u32:1
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void count_up(device atomic_uint *count [[buffer(0)]],
                     uint gid [[thread_position_in_grid]]) {
    if ((gid & 1) == 0) {
        atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    }
}
