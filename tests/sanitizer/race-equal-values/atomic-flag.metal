// The flag is stored atomically: no race.
// launch: --threads 64 --group 32 --arg found=zeros:u32:1
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void any_found(device atomic_uint *found [[buffer(0)]],
                      uint gid [[thread_position_in_grid]]) {
    if (gid % 2 == 1) {
        atomic_store_explicit(found, 1, memory_order_relaxed);
    }
}
