// The scan's flags are relaxed and there is no fence: the sum may be read before it is written.
// launch: --threads 128 --group 32 --arg state=zeros:u32:4 --arg sums=zeros:u32:4
#include <metal_stdlib>
using namespace metal;

kernel void scan(device atomic_uint *state [[buffer(0)]], device uint *sums [[buffer(1)]],
                 uint gid [[thread_position_in_grid]],
                 uint lid [[thread_position_in_threadgroup]],
                 uint group [[threadgroup_position_in_grid]]) {
    uint own = simd_sum(gid);
    if (lid == 0) {
        uint before = 0;
        if (group > 0) {
            while (atomic_load_explicit(&state[group - 1], memory_order_relaxed) == 0) {
            }
            before = sums[group - 1]; //~ race-grid 2
        }
        sums[group] = before + own; //~ race-grid 1
        atomic_store_explicit(&state[group], 1, memory_order_relaxed);
    }
}
