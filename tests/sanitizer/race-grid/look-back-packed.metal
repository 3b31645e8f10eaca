// Flag and sum are in one atomic word: nothing but that word is exchanged, so no fence is needed.
// launch: --threads 128 --group 32 --arg state=zeros:u32:4
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void scan(device atomic_uint *state [[buffer(0)]],
                 uint lid [[thread_position_in_threadgroup]],
                 uint group [[threadgroup_position_in_grid]]) {
    if (lid == 0) {
        uint before = 0;
        if (group > 0) {
            do {
                before = atomic_load_explicit(&state[group - 1], memory_order_relaxed);
            } while ((before & 0x80000000u) == 0);
        }
        atomic_store_explicit(&state[group], ((before & 0x7fffffffu) + 1) | 0x80000000u, memory_order_relaxed);
    }
}
