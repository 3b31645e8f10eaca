// The writer's fence is after the store of the flag: it orders nothing before it for the reader.
// launch: --threads 64 --group 32 --arg flag=zeros:u32:1 --arg data=zeros:u32:1 --arg out=zeros:u32:1
#include <metal_stdlib>
using namespace metal;

kernel void hand_off(device atomic_uint *flag [[buffer(0)]], device uint *data [[buffer(1)]],
                     device uint *out [[buffer(2)]], uint lid [[thread_position_in_threadgroup]],
                     uint group [[threadgroup_position_in_grid]]) {
    if (group == 0 && lid == 0) {
        data[0] = 42; //~ race-grid 1
        atomic_store_explicit(flag, 1, memory_order_relaxed);
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    }
    if (group == 1 && lid == 0) {
        if (atomic_load_explicit(flag, memory_order_relaxed) == 1) {
            atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
            out[0] = data[0]; //~ race-grid 2
        }
    }
}
