// One threadgroup stores plainly, the other loads the word atomically: mixed, so a race.
// launch: --threads 2 --group 1 --arg word=zeros:u32:1 --arg out=zeros:u32:1
#include <metal_stdlib>
using namespace metal;

kernel void mixed(device uint *word [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint gid [[thread_position_in_grid]]) {
    if (gid == 0) {
        word[0] = 3; //~ race-grid 1
    } else {
        out[0] = atomic_load_explicit(reinterpret_cast<device atomic_uint *>(word), memory_order_relaxed); //~ race-grid 2
    }
}
